/** The beginning of a digest, by which a person names the diff that was shown. No I/O. */

/** The characters of a digest that are shown, and that a person types. */
export const SHORT_DIGEST_CHARS = 8;

/** Empty for a diff that has no digest. */
export function shortDigest(digest: string | null): string {
  return digest?.slice(0, SHORT_DIGEST_CHARS) ?? "";
}
