/** Compares secrets in a time that tells nothing of where they differ. */

import { createHash, timingSafeEqual } from "node:crypto";

/** Whether both texts are the same. Digests have one length, whatever was sent. */
export function equalSecrets(given: string, expected: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected));
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
