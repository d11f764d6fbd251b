/** Seals bytes with AES-256-GCM, so that only holders of a key can read or change them. */

import type { Ids } from "kit/core/clock.ts";
import { crypto } from "kit/host/node_library.ts";

/** Sealed bytes: this byte, the nonce, the ciphertext and the tag. */
const FORMAT = 1;
const NONCE_AT = 1;
const NONCE_BYTES = 12;
const BODY_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = "aes-256-gcm";

/** Bytes that sealing adds. */
export const SEAL_BYTES = BODY_AT + TAG_BYTES;

/** Derives a key of 256 bits from secret material (HKDF with SHA-256, RFC 5869). */
export function deriveKey(
  material: Uint8Array,
  info: string,
  salt: Uint8Array = new Uint8Array(),
): Uint8Array {
  return new Uint8Array(crypto().hkdfSync("sha256", material, salt, info, KEY_BYTES));
}

/**
 * Seals bytes. `context` names their purpose. It is not sent, so `open` needs the same context. A
 * random nonce may repeat after 2^32 messages of one key, which no key here reaches.
 */
export function seal(
  key: Uint8Array,
  context: string,
  bytes: Uint8Array,
  ids: Pick<Ids, "hex">,
): Uint8Array {
  const nonce = Uint8Array.fromHex(ids.hex(NONCE_BYTES));
  const cipher = crypto().createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(toUtf8(context));
  const sealed = new Uint8Array(SEAL_BYTES + bytes.length);
  sealed[0] = FORMAT;
  sealed.set(nonce, NONCE_AT);
  sealed.set(cipher.update(bytes), BODY_AT);
  cipher.final();
  sealed.set(cipher.getAuthTag(), BODY_AT + bytes.length);
  return sealed;
}

/** Opens sealed bytes; null if they are not exactly what `seal` made with this key and context. */
export function open(key: Uint8Array, context: string, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < SEAL_BYTES || sealed[0] !== FORMAT) return null;
  const tagAt = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(NONCE_AT, BODY_AT);
  const cipher = crypto().createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(toUtf8(context)).setAuthTag(sealed.subarray(tagAt));
  const bytes = cipher.update(sealed.subarray(BODY_AT, tagAt));
  try {
    cipher.final();
  } catch { // The only error of `final` is a wrong tag.
    return null;
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

const utf8 = new TextEncoder();

/** Refuses contexts with lone surrogates, because different contexts become equal in UTF-8. */
function toUtf8(context: string): Uint8Array {
  if (!context.isWellFormed()) throw new TypeError("A context must be well-formed text");
  return utf8.encode(context);
}
