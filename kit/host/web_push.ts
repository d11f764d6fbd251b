/**
 * Web Push for an application server: encrypts a message for one device (RFC 8291, with the coding
 * of RFC 8188), and identifies the sender to the push service (VAPID, RFC 8292).
 *
 * The cryptography of Node's library is used because its calls return at once, so that a push needs
 * no turn of the event loop. The packages for this need the same library and send by themselves.
 */

import { crypto } from "kit/host/node_library.ts";

const CURVE = "prime256v1";
const KEY_BYTES = 65;
const SECRET_BYTES = 16;
const SALT_BYTES = 16;
/** Delimiter of the last record, and the tag of AES-GCM. */
const OVERHEAD_BYTES = 17;
/** Of a record. A push has one record, which is shorter than this. */
const RECORD_BYTES = 4096;

/**
 * Each message is padded to this size, so that its length tells nothing. RFC 8291 allows 3,993
 * bytes; Firefox on Android accepts fewer.
 */
export const PUSH_BYTES = 2820;

/** Keys that a device gives with its subscription, in base64url. */
export interface DeviceKeys {
  readonly p256dh: string;
  readonly auth: string;
}

/** A pair of keys of P-256, in base64url. */
export interface KeyPair {
  readonly public_key: string;
  readonly private_key: string;
}

const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const encode = (bytes: Uint8Array) =>
  new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });
const utf8 = (text: string) => new TextEncoder().encode(text);

export function newKeyPair(): KeyPair {
  const own = crypto().createECDH(CURVE);
  own.generateKeys();
  return { public_key: encode(own.getPublicKey()), private_key: encode(own.getPrivateKey()) };
}

/** True if a device with these keys can be sent a push. */
export function areDeviceKeys({ p256dh, auth }: DeviceKeys): boolean {
  try {
    if (decode(auth).length !== SECRET_BYTES || decode(p256dh).length !== KEY_BYTES) return false;
    const own = crypto().createECDH(CURVE);
    own.generateKeys();
    own.computeSecret(decode(p256dh));
    return true;
  } catch {
    return false; // Not base64url, or no point of the curve.
  }
}

interface EncryptOptions {
  /** 16 random bytes in base64url. */
  readonly salt: string;
  /** A new pair for each message; given only to repeat the example of the RFC. */
  readonly own?: KeyPair;
  /** Size of the padded message. */
  readonly bytes?: number;
}

/** The body of a push. Throws a `RangeError` if the text is longer than `PUSH_BYTES`. */
export function encryptPush(
  text: string,
  { p256dh, auth }: DeviceKeys,
  { salt, own = newKeyPair(), bytes = PUSH_BYTES }: EncryptOptions,
): Uint8Array<ArrayBuffer> {
  const { createCipheriv, createECDH, hkdfSync } = crypto();
  const message = utf8(text);
  if (message.length > bytes) throw new RangeError(`A push holds ${bytes} bytes`);
  const [theirs, ours, saltBytes] = [p256dh, own.public_key, salt].map(decode) as Bytes3;
  const exchange = createECDH(CURVE);
  exchange.setPrivateKey(decode(own.private_key));
  const shared = exchange.computeSecret(theirs);
  const expand = (key: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number) =>
    new Uint8Array(hkdfSync("sha256", key, salt, info, length));
  const info = new Uint8Array([...utf8("WebPush: info\0"), ...theirs, ...ours]);
  const secret = expand(shared, decode(auth), info, 32);
  const key = expand(secret, saltBytes, utf8("Content-Encoding: aes128gcm\0"), 16);
  const nonce = expand(secret, saltBytes, utf8("Content-Encoding: nonce\0"), 12);
  const padded = new Uint8Array(bytes + 1);
  padded.set(message);
  padded[message.length] = 2; // Marks the last record.
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const head = new Uint8Array(SALT_BYTES + 5);
  head.set(saltBytes);
  new DataView(head.buffer).setUint32(SALT_BYTES, RECORD_BYTES);
  head[SALT_BYTES + 4] = ours.length;
  const sealed = [cipher.update(padded), cipher.final(), cipher.getAuthTag()];
  const body = new Uint8Array(head.length + ours.length + bytes + OVERHEAD_BYTES);
  let at = 0;
  for (const part of [head, ours, ...sealed]) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}

type Bytes3 = [Uint8Array, Uint8Array, Uint8Array];

interface VapidClaims {
  /** Origin of the push service. */
  readonly audience: string;
  /** The address by which its operator reaches the sender: `mailto:` or `https:`. */
  readonly contact: string;
  /** Seconds since 1970, at most a day ahead. */
  readonly expires: number;
}

/** The value of `Authorization` for a push service: a token signed with ES256. */
export function vapidAuthorization(
  { public_key, private_key }: KeyPair,
  { audience, contact, expires }: VapidClaims,
): string {
  const { createPrivateKey, sign } = crypto();
  const point = decode(public_key);
  const [x, y] = [encode(point.subarray(1, 33)), encode(point.subarray(33))];
  const jwk = { kty: "EC", crv: "P-256", x, y, d: private_key };
  const part = (value: unknown) => encode(utf8(JSON.stringify(value)));
  const claims = part({ aud: audience, exp: expires, sub: contact });
  const signed = `${part({ typ: "JWT", alg: "ES256" })}.${claims}`;
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const signature = sign("sha256", utf8(signed), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${signed}.${encode(signature)}, k=${public_key}`;
}
