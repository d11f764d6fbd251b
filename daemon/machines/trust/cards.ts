/** Cards: the name and the keys of a machine, signed by it and proved for the network. */

import * as z from "zod";
import { Instant, Name } from "kit/core/schema.ts";
import { canonicalJson } from "kit/core/text.ts";
import { crypto } from "kit/host/node_library.ts";
import {
  base64Text,
  fromBase64,
  isAgreeKey,
  KEY_BYTES,
  type MachineKeys,
  type PublicKeys,
  sign,
  SIGNATURE_BYTES,
  toBase64,
  toStatement,
  toVerifyKey,
  verify,
} from "./keys.ts";
import type { NetworkKeys } from "./network.ts";

/** The length of an HMAC with SHA-256. */
const PROOF_BYTES = 32;

/** How a machine is named in protocols. */
const DaemonId = z.string().regex(/^dm-[0-9a-f]{12}$/, "Not the id of a daemon");

/** How a machine is named for people. A name must not look like the id of another machine. */
export const MachineName = Name.regex(
  /^(?!dm-)/i,
  'The name of a machine does not begin with "dm-"',
);

export const Card = z.object({
  daemon_id: DaemonId,
  name: MachineName,
  /** The Ed25519 public key, which verifies signatures. */
  sign: base64Text(KEY_BYTES),
  /** The X25519 public key, from which keys between two machines are derived. */
  agree: base64Text(KEY_BYTES),
  /** When the card was made. Of two cards with the same keys, the newer one counts. */
  created_at: Instant,
});
export type Card = z.output<typeof Card>;

export const SignedCard = Card.extend({
  /** The signature by the card's own key: the machine has the private key. */
  signature: base64Text(SIGNATURE_BYTES),
  /** An HMAC by the network's proof key: the machine knows the network secret. */
  proof: base64Text(PROOF_BYTES),
});
export type SignedCard = z.output<typeof SignedCard>;

type CardCheck =
  | { readonly ok: true; readonly card: SignedCard }
  | { readonly ok: false; readonly reason: "malformed"; readonly summary: string }
  | { readonly ok: false; readonly reason: "not_of_network" | "not_signed"; readonly card: Card };

const ABOUT_SIGNATURE: readonly string[] = ["mesh card 1"];
const ABOUT_PROOF: readonly string[] = ["mesh card 1 proof"];

/** Signs the card of this machine. */
export function signCard(
  { daemon_id, name, created_at }: Pick<Card, "daemon_id" | "name" | "created_at">,
  keys: MachineKeys,
  network: NetworkKeys,
): SignedCard {
  const card: Card = { daemon_id, name, ...keys.public, created_at };
  const bytes = bytesOf(card);
  return {
    ...card,
    signature: toBase64(sign(keys, ABOUT_SIGNATURE, bytes)),
    proof: toBase64(proofOf(bytes, network)),
  };
}

/** Checks a card in the form in which machines send it. Never throws, for any value. */
export function checkCard(given: unknown, network: NetworkKeys): CardCheck {
  const parsed = SignedCard.safeParse(given);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return { ok: false, reason: "malformed", summary: issues.join("; ") };
  }
  const card = parsed.data;
  if (!isAgreeKey(card.agree)) {
    return { ok: false, reason: "malformed", summary: "agree: Must not be a point of low order" };
  }
  const bytes = bytesOf(card);
  const proof = fromBase64(card.proof);
  if (!crypto().timingSafeEqual(proof, proofOf(bytes, network))) {
    return { ok: false, reason: "not_of_network", card };
  }
  const key = toVerifyKey(card.sign);
  const isSigned = verify(key, ABOUT_SIGNATURE, bytes, fromBase64(card.signature));
  return isSigned ? { ok: true, card } : { ok: false, reason: "not_signed", card };
}

/** The form in which a machine sends its card. */
export function cardToWire(card: SignedCard): z.input<typeof SignedCard> {
  return z.encode(SignedCard, card);
}

/** The text that two people compare: 8 groups of 4 hex digits of the SHA-256 of both keys. */
export function fingerprintOf({ sign, agree }: PublicKeys): string {
  const hash = crypto().createHash("sha256").update(fromBase64(sign)).update(fromBase64(agree));
  return hash.digest("hex").slice(0, 32).replaceAll(/.{4}/g, "$& ").trimEnd();
}

/** The signed bytes of a card. Other received fields are not signed, so they are left out. */
function bytesOf({ daemon_id, name, sign, agree, created_at }: Card): Uint8Array {
  return new TextEncoder().encode(canonicalJson({ daemon_id, name, sign, agree, created_at }));
}

function proofOf(bytes: Uint8Array, { proof_key }: NetworkKeys): Uint8Array {
  return crypto().createHmac("sha256", proof_key).update(toStatement(ABOUT_PROOF, bytes)).digest();
}
