/** SQL that reads queues without the texts, for the dispatcher, which reads them at every tick. */

import * as z from "zod";
import { type Database, rowOf } from "kit/data/sqlite.ts";
import { StoredMessage } from "../contract.ts";

const QueuedMessage = rowOf(
  StoredMessage.pick({
    seq: true,
    to_peer_id: true,
    transport: true,
    repeatable: true,
    reason: true,
  }),
);
export type QueuedMessage = z.output<typeof QueuedMessage>;

/** The first queued message of a peer. */
export function firstQueued(db: Database, to_peer_id: string): QueuedMessage | undefined {
  return db.get(
    QueuedMessage,
    `select seq, to_peer_id, rung as transport, repeatable, reason from messages
     where to_peer_id = :to_peer_id and state = 'queued' order by seq limit 1`,
    { to_peer_id },
  );
}

/** The reason that is stored on the last queued message of a peer. */
export function lastReason(db: Database, to_peer_id: string): string | null | undefined {
  return db.value(
    z.string().nullable(),
    `select reason from messages where to_peer_id = :to_peer_id and state = 'queued'
     order by seq desc limit 1`,
    { to_peer_id },
  );
}
