/** What the courier reads of a queue at every tick: no texts, as what waits may wait for hours. */

import * as z from "zod";
import { type Database, rowOf } from "kit/data/sqlite.ts";
import { Held } from "../contract.ts";

const Waiting = rowOf(
  Held.pick({ seq: true, to_peer_id: true, rung: true, repeatable: true, reason: true }),
);
export type Waiting = z.output<typeof Waiting>;

/** What waits first for a peer. */
export function firstWaiting(db: Database, to_peer_id: string): Waiting | undefined {
  return db.get(
    Waiting,
    `select seq, to_peer_id, rung, repeatable, reason from messages
     where to_peer_id = :to_peer_id and state = 'queued' order by seq limit 1`,
    { to_peer_id },
  );
}

const Reason = z.object({ reason: z.string().nullable() });

/** The reason on the message that came last of all that waits for a peer. */
export function lastReason(db: Database, to_peer_id: string): string | null | undefined {
  return db.get(
    Reason,
    `select reason from messages where to_peer_id = :to_peer_id and state = 'queued'
     order by seq desc limit 1`,
    { to_peer_id },
  )?.reason;
}
