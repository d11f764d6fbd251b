/** The comparison of secrets. */

import { crypto } from "kit/host/node_library.ts";

/** Compares two secrets in constant time, by their digests, because these have equal lengths. */
export function equalSecrets(given: string, expected: string): boolean {
  const { createHash, timingSafeEqual } = crypto();
  const digestOf = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digestOf(given), digestOf(expected));
}
