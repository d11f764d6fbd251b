/** The keys of a machine: Ed25519 signs, X25519 agrees on keys with other machines. */

import type { KeyObject } from "node:crypto";
import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import { crypto } from "kit/host/node_library.ts";
import { deriveKey } from "./sealing.ts";

/** The length of every key here, private or public. */
export const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;
const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;

/** The public keys of a machine: 32 bytes each, in base64url. */
export interface PublicKeys {
  readonly sign: string;
  readonly agree: string;
}

export interface MachineKeys {
  readonly sign: KeyObject;
  readonly agree: KeyObject;
  readonly public: PublicKeys;
}

/** The keys by which two machines seal for each other: one for each direction. */
interface PairKeys {
  readonly send: Uint8Array;
  readonly receive: Uint8Array;
}

type Curve = "Ed25519" | "X25519";

/** The PKCS #8 form of a private key, up to its 32 bytes (RFC 8410). */
const PKCS8_PREFIX: Readonly<Record<Curve, string>> = {
  Ed25519: "302e020100300506032b657004220420",
  X25519: "302e020100300506032b656e04220420",
};

/** Makes the keys of a machine that joins a network. */
export function makeMachineKeys(ids: Pick<Ids, "secret">): MachineKeys {
  const material = new TextEncoder().encode(ids.secret(KEY_BYTES));
  return machineKeysOf(
    toPrivateKey("Ed25519", deriveKey(material, "mesh machine 1: sign")),
    toPrivateKey("X25519", deriveKey(material, "mesh machine 1: agree")),
  );
}

/** The keys as JSON with two JWK (RFC 8037), for a file that only its owner may read. */
export function machineKeysToText({ sign, agree }: MachineKeys): string {
  const jwk = { sign: sign.export({ format: "jwk" }), agree: agree.export({ format: "jwk" }) };
  return `${JSON.stringify(jwk, null, 2)}\n`;
}

/** Reads the keys from the text of their file; null if it is damaged in any way. */
export function machineKeysFromText(text: string): MachineKeys | null {
  const parsed = KeyFile.safeParse(tryJson(text));
  if (!parsed.success) return null;
  const { sign, agree } = parsed.data;
  const keys = machineKeysOf(
    toPrivateKey("Ed25519", fromBase64(sign.d)),
    toPrivateKey("X25519", fromBase64(agree.d)),
  );
  const isWhole = keys.public.sign === sign.x && keys.public.agree === agree.x;
  return isWhole ? keys : null;
}

/** A text that is this many bytes in base64url, in the one spelling that `toBase64` makes. */
export function base64Text(bytes: number) {
  const chars = Math.ceil(bytes * 4 / 3);
  const isBase64 = (text: string) => text.length === chars && /^[\w-]*$/.test(text);
  return z.string().refine(
    (text) => isBase64(text) && toBase64(fromBase64(text)) === text,
    `Must be ${bytes} bytes in base64url`,
  );
}

/** Bytes as base64url without padding. */
export function toBase64(bytes: Uint8Array): string {
  return bytes.toBase64(URL_SAFE);
}

/** The bytes of a text in base64url. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.fromBase64(text, URL_SAFE);
}

/** Signs bytes. `about` names kind, purpose and receiver: no signature serves for another kind. */
export function sign(keys: MachineKeys, about: readonly string[], bytes: Uint8Array): Uint8Array {
  return new Uint8Array(crypto().sign(null, toStatement(about, bytes), keys.sign));
}

/** True if the owner of a public key signed these bytes with the same `about`. */
export function verify(
  key: KeyObject,
  about: readonly string[],
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  return crypto().verify(null, toStatement(about, bytes), key, signature);
}

/** The signed bytes: one line of JSON, which contains no line break, then the content. */
export function toStatement(about: readonly string[], bytes: Uint8Array): Uint8Array {
  const line = new TextEncoder().encode(`${JSON.stringify(about)}\n`);
  const statement = new Uint8Array(line.length + bytes.length);
  statement.set(line);
  statement.set(bytes, line.length);
  return statement;
}

/** The key that verifies the signatures of a machine. */
export function toVerifyKey(text: string): KeyObject {
  return toPublicKey("Ed25519", text);
}

/** A machine and its public key for agreement. */
interface Party {
  readonly daemon_id: string;
  readonly agree: string;
}

/**
 * Derives the keys between this machine and another one. The salt holds both public keys, because
 * different public keys can lead to the same shared secret (RFC 7748, section 7).
 */
export function pairKeysOf(daemon_id: string, keys: MachineKeys, theirs: Party): PairKeys {
  const mine: Party = { daemon_id, agree: keys.public.agree };
  const shared = agreeOn(keys.agree, theirs.agree);
  const keyOf = (from: Party, to: Party) =>
    deriveKey(
      shared,
      `mesh bus 1: ${from.daemon_id} > ${to.daemon_id}`,
      toStatement([from.agree, to.agree], new Uint8Array()),
    );
  return { send: keyOf(mine, theirs), receive: keyOf(theirs, mine) };
}

/**
 * True if a public key leads to secrets. The few points of low order lead to zero with every
 * private key, so that anybody would know the shared secret (RFC 7748, section 6.1).
 */
export function isAgreeKey(text: string): boolean {
  try {
    agreeOn(toPrivateKey("X25519", new Uint8Array(KEY_BYTES)), text);
    return true;
  } catch {
    return false;
  }
}

function agreeOn(privateKey: KeyObject, theirs: string): Uint8Array {
  return crypto().diffieHellman({ privateKey, publicKey: toPublicKey("X25519", theirs) });
}

function machineKeysOf(sign: KeyObject, agree: KeyObject): MachineKeys {
  return { sign, agree, public: { sign: publicTextOf(sign), agree: publicTextOf(agree) } };
}

function publicTextOf(key: KeyObject): string {
  const { x } = crypto().createPublicKey(key).export({ format: "jwk" });
  if (x === undefined) throw new Error("The key has no public part");
  return x;
}

function toPrivateKey(curve: Curve, seed: Uint8Array): KeyObject {
  const der = Uint8Array.fromHex(PKCS8_PREFIX[curve] + seed.toHex()).toBase64();
  return crypto().createPrivateKey(
    `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`,
  );
}

function toPublicKey(crv: Curve, x: string): KeyObject {
  return crypto().createPublicKey({ key: { kty: "OKP", crv, x }, format: "jwk" });
}

function jwkOf(curve: Curve) {
  const key = base64Text(KEY_BYTES);
  return z.object({ kty: z.literal("OKP"), crv: z.literal(curve), d: key, x: key });
}

const KeyFile = z.object({ sign: jwkOf("Ed25519"), agree: jwkOf("X25519") });
