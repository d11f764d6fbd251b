/** The secret that the machines of one network share, and the keys that are derived from it. */

import type { Ids } from "kit/core/clock.ts";
import { invalidField } from "kit/core/problem.ts";
import { deriveKey } from "./sealing.ts";

const PREFIX = "mesh_net_";
const SECRET_BYTES = 32;
/** 32 bytes in base64url without padding. */
const SECRET_CHARS = 43;

/** Keys derived from the network secret. The secret itself is never sent to the bus. */
export interface NetworkKeys {
  /** Proves that the sender of a card knows the secret. */
  readonly proof_key: Uint8Array;
  /** Seals entries of the directory, which every machine of the network may read. */
  readonly directory_key: Uint8Array;
}

/** Makes the secret of a new network: `mesh_net_` and 43 characters. */
export function makeNetworkSecret(ids: Pick<Ids, "secret">): string {
  return PREFIX + ids.secret(SECRET_BYTES);
}

/** Returns the secret in a text that a person pasted; refuses any other text without quoting it. */
export function parseNetworkSecret(text: string): string {
  const secret = text.trim();
  const fault = faultOf(secret);
  if (fault === undefined) return secret;
  throw invalidField(
    "network_secret",
    `${fault}; copy the whole secret from a machine of the network`,
  );
}

function faultOf(secret: string): string | undefined {
  if (!secret.startsWith(PREFIX)) return `A network secret begins with "${PREFIX}"`;
  const rest = secret.slice(PREFIX.length);
  if (/[^A-Za-z0-9_-]/.test(rest)) {
    return `"${PREFIX}" is followed by letters, digits, hyphens and underscores only`;
  }
  if (rest.length === SECRET_CHARS) return undefined;
  return `"${PREFIX}" is followed by ${SECRET_CHARS} characters, and here by ${rest.length}`;
}

/**
 * Derives the keys of a network. The material is the secret's text, because in base64url several
 * texts stand for the same bytes, and a mistyped secret must not work.
 */
export function networkKeysOf(secret: string): NetworkKeys {
  const material = new TextEncoder().encode(parseNetworkSecret(secret));
  return {
    proof_key: deriveKey(material, "mesh network 1: proof of cards"),
    directory_key: deriveKey(material, "mesh network 1: directory"),
  };
}
