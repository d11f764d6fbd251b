/** A device that reads pushes, as a browser does (RFC 8291). */

import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from "node:crypto";
import type { DeviceKeys } from "kit/host/web_push.ts";

const KEY_BYTES = 65;

export interface Device {
  readonly keys: DeviceKeys;
  readonly exchange: ECDH;
  readonly secret: Uint8Array;
}

const encode = (bytes: Uint8Array) =>
  new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });

export function newDevice(): Device {
  const exchange = createECDH("prime256v1");
  exchange.generateKeys();
  const secret = new Uint8Array(randomBytes(16));
  const keys = { p256dh: encode(exchange.getPublicKey()), auth: encode(secret) };
  return { keys, exchange, secret };
}

/** The text of a push. Throws if it is for another device. */
export function decryptPush({ keys, exchange, secret }: Device, body: Uint8Array): string {
  const salt = body.subarray(0, 16), sender = body.subarray(21, 21 + KEY_BYTES);
  const own = Uint8Array.fromBase64(keys.p256dh, { alphabet: "base64url" });
  const utf8 = (text: string) => new TextEncoder().encode(text);
  const expand = (key: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number) =>
    new Uint8Array(hkdfSync("sha256", key, salt, info, length));
  const info = new Uint8Array([...utf8("WebPush: info\0"), ...own, ...sender]);
  const shared = expand(exchange.computeSecret(sender), secret, info, 32);
  const key = expand(shared, salt, utf8("Content-Encoding: aes128gcm\0"), 16);
  const nonce = expand(shared, salt, utf8("Content-Encoding: nonce\0"), 12);
  const sealed = body.subarray(21 + KEY_BYTES);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAuthTag(sealed.subarray(-16));
  const parts = [decipher.update(sealed.subarray(0, -16)), decipher.final()];
  const padded = new Uint8Array(parts.flatMap((part) => [...part]));
  return new TextDecoder().decode(padded.subarray(0, padded.lastIndexOf(2)));
}
