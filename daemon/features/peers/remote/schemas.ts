/** Schemas of other machines' peers, as shared and stored; made at first use, as few have a bus. */

import * as z from "zod";
import { Instant, madeLate, Name, shortText } from "kit/core/schema.ts";
import { Backend, TurnState } from "protocol/agents/contract.ts";
import { PeerStatus, Role, Wait } from "protocol/peers/record.ts";

/** A description is cut to this length before it is shared. */
export const SHARED_DESCRIPTION_CHARS_MAX = 200;

export const FOLDER_CHARS_MAX = 255;

export const peerId = madeLate(() =>
  z.string().regex(/^peer-[0-9a-f]{12}$/, "Not the id of a peer")
);

/** Proof that a machine made a peer's id; earlier versions share none. */
const idProof = madeLate(() => z.string().regex(/^[0-9a-f]{24}$/).nullable().default(null));

/** The record of a peer, as its machine announces it to other machines. */
export const sharedPeer = madeLate(() =>
  z.object({
    peer_id: peerId(),
    name: Name,
    circle: Name,
    backend: Backend.nullable(),
    model: shortText(255).nullable(),
    role: Role.exclude(["human"]),
    /** A retired peer is not shared. */
    status: PeerStatus.exclude(["retired"]),
    turn_state: TurnState.nullable(),
    /** Earlier versions share none, and later ones may name other kinds. */
    waits_for: Wait.nullable().default(null).catch(null),
    description: shortText(SHARED_DESCRIPTION_CHARS_MAX).nullable(),
    /** The last part of the peer's path. */
    folder: shortText(FOLDER_CHARS_MAX).nullable(),
    last_seen: Instant.nullable(),
    id_proof: idProof(),
  })
);
export type SharedPeer = z.output<ReturnType<typeof sharedPeer>>;

/** The shared record of a machine's human. */
export const sharedHuman = madeLate(() =>
  z.object({ peer_id: peerId(), name: Name, id_proof: idProof() })
);
export type SharedHuman = z.output<ReturnType<typeof sharedHuman>>;

/** A peer on another machine, as it is stored. */
export const remotePeer = madeLate(() =>
  sharedPeer().omit({ folder: true, waits_for: true }).extend({
    /** `human` for the human of that machine, who is in no list and is not found by name. */
    role: Role,
    daemon_id: z.string(),
    /** The name of its machine. */
    machine: z.string(),
    path: z.string().nullable(),
    /** When its machine announced it, by this machine's clock. */
    seen_at: Instant,
    /** When its machine announced it first. */
    registered_at: Instant,
  })
);
export type RemotePeer = z.output<ReturnType<typeof remotePeer>>;

/** The name of another machine's peer on this machine, such as `api@buildbox`. */
export function qualifiedName({ name, machine }: Pick<RemotePeer, "name" | "machine">): string {
  return `${name}@${machine}`;
}
