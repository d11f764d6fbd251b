/**
 * Modules of Node's library that the daemon loads at their first use. Deno makes them when they are
 * imported: `node:crypto` alone takes longer than an empty Deno takes to start, and 4 MB.
 */

const load = () => globalThis.process;

export const crypto = () => load().getBuiltinModule("node:crypto");
export const fs = () => load().getBuiltinModule("node:fs");
export const v8 = () => load().getBuiltinModule("node:v8");
export const process = load;
export const vm = () => load().getBuiltinModule("node:vm");

/** The SHA-256 of a text, in UTF-8, or of bytes. */
export function sha256(data: string | Uint8Array, encoding: "hex" | "base64url"): string {
  return crypto().createHash("sha256").update(data).digest(encoding);
}

/** Compares two secrets in constant time, by their digests, because these have equal lengths. */
export function equalSecrets(given: string, expected: string): boolean {
  const { createHash, timingSafeEqual } = crypto();
  const digestOf = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digestOf(given), digestOf(expected));
}
