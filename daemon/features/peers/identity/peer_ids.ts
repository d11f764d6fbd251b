/**
 * Ids of peers that belong to one machine: the id is a digest of the machine's id and of a proof,
 * which the machine announces with it. Another machine would need about 2^57 hashes for a proof of
 * the same id. Ids of earlier versions are random, and belong to the machine that announced them
 * first.
 */

import type { Ids } from "kit/core/clock.ts";
import { crypto } from "kit/host/node_library.ts";

export interface NewPeerId {
  readonly peer_id: string;
  /** Null for an id that proves nothing. */
  readonly id_proof: string | null;
}

export interface PeerIds {
  next(): NewPeerId;
}

/** Rounds of the digest. A machine checks up to 1000 proofs at another's first announcement. */
const ROUNDS = 256;
const ID_BYTES = 6;
const PROOF_BYTES = 12;

/** Makes the ids of a machine's new peers. */
export function ownPeerIds(daemon_id: string, ids: Pick<Ids, "hex">): PeerIds {
  return {
    next() {
      const id_proof = ids.hex(PROOF_BYTES);
      return { peer_id: idOf(daemon_id, id_proof), id_proof };
    },
  };
}

/** True if an id is proved to be one that this machine made. */
export function isOwnId(daemon_id: string, { peer_id, id_proof }: NewPeerId): boolean {
  return id_proof !== null && idOf(daemon_id, id_proof) === peer_id;
}

function idOf(daemon_id: string, id_proof: string): string {
  const digest = crypto().pbkdf2Sync(daemon_id, id_proof, ROUNDS, ID_BYTES, "sha256");
  return `peer-${digest.toString("hex")}`;
}
