/** The peers among which a routing strategy chooses, its choice, and SQL of its facts. */

import * as z from "zod";
import type { Context } from "../../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import * as peerRows from "../../peers/store.ts";
import { pendingOfAll } from "../store.ts";
import type { Failure } from "protocol/asks/routing.ts";
import type { StoredPeer } from "../../peers/store.ts";

/** The result of a strategy: a peer (by name or id) and the confidence in it, or a failure. */
export type Choice =
  | { readonly peer: string; readonly confidence: number }
  | { readonly peer: null; readonly confidence: 0; readonly failure: Failure };

export function noChoice(failure: Failure): Choice {
  return { peer: null, confidence: 0, failure };
}

/** A peer that a strategy may choose, with the facts that it may use. */
export interface Candidate extends
  Pick<
    StoredPeer,
    "peer_id" | "name" | "circle" | "backend" | "role" | "status" | "turn_state" | "path"
  > {
  /** The peer's last description, whatever its age. */
  readonly description: string | null;
  readonly description_age_seconds: number | null;
  readonly open_asks: number;
  /** The closing time of the last ask to the peer, in milliseconds; null if not recent. */
  readonly last_closed_at: number | null;
}

/** Every live peer that takes messages and was not started by the system itself. */
export function liveCandidates({ db, clock }: Pick<Context, "db" | "clock">): Candidate[] {
  const pending = pendingOfAll(db);
  const closed = lastClosedAtByPeer(db);
  const now = clock.now();
  return peerRows.livePeers(db).filter(({ addressable, initiator }) =>
    addressable && initiator !== "system"
  ).map((peer) => ({
    peer_id: peer.peer_id,
    name: peer.name,
    circle: peer.circle,
    backend: peer.backend,
    role: peer.role,
    status: peer.status,
    turn_state: peer.turn_state,
    path: peer.path,
    description: peer.description,
    description_age_seconds: peer.described_at && (now - peer.described_at) / 1000,
    open_asks: pending.get(peer.peer_id)?.count ?? 0,
    last_closed_at: closed.get(peer.peer_id) ?? null,
  }));
}

/** Maximum closed asks considered, newest first, and maximum characters of each reply. */
const CLOSED_ROWS_MAX = 400;
const REPLY_CHARS_MAX = 500;

const Closed = z.object({ to_peer_id: z.string(), closed_at: z.number() });

/** The closing time of each peer's last ask among the last `CLOSED_ROWS_MAX` closed asks. */
function lastClosedAtByPeer(db: Reader): Map<string, number> {
  const closed = db.all(
    Closed,
    `select to_peer_id, max(closed_at) as closed_at from (
       select to_peer_id, closed_at
       from messages where closed_at is not null order by closed_at desc limit :rows)
     group by to_peer_id`,
    { rows: CLOSED_ROWS_MAX },
  );
  return new Map(closed.map(({ to_peer_id, closed_at }) => [to_peer_id, closed_at]));
}

const Reply = z.object({ peer_id: z.string(), reply: z.string() });

/** The beginnings of the replies to the last closed asks, newest first. */
export function lastReplies(db: Reader) {
  return db.all(
    Reply,
    `select peer_id, reply from (
       select to_peer_id as peer_id, substr(reply, 1, :chars) as reply, close_reason
       from messages where closed_at is not null order by closed_at desc limit :rows)
     where reply is not null and close_reason in ('ack_with_msg', 'answered')`,
    { chars: REPLY_CHARS_MAX, rows: CLOSED_ROWS_MAX },
  );
}
