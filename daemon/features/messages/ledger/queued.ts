/** SQL that reads queues: at every tick without the texts, and urgent messages with their texts. */

import * as z from "zod";
import { type Database, type Reader, rowOf } from "kit/data/sqlite.ts";
import { StoredMessage } from "protocol/messages/contract.ts";
import { selectMessages } from "./rows.ts";

const QueuedMessage = rowOf(
  StoredMessage.pick({
    seq: true,
    to_peer_id: true,
    transport: true,
    repeatable: true,
    reason: true,
    urgent: true,
    created_at: true,
  }),
);
export type QueuedMessage = z.output<typeof QueuedMessage>;

const COLUMNS = "seq, to_peer_id, rung as transport, repeatable, reason, urgent, created_at";

/** The first queued message of a peer. */
export function firstQueued(db: Reader, to_peer_id: string): QueuedMessage | undefined {
  return db.get(
    QueuedMessage,
    `select ${COLUMNS} from messages
     where to_peer_id = :to_peer_id and state = 'queued' order by seq limit 1`,
    { to_peer_id },
  );
}

/**
 * The first queued message of a peer that is neither urgent nor sent after an urgent message of the
 * same sender. Urgent messages from `held_since` or earlier do not count as urgent.
 */
export function firstNotHeld(
  db: Database,
  to_peer_id: string,
  held: { readonly after: number; readonly until: number },
): QueuedMessage | undefined {
  return db.get(
    QueuedMessage,
    `select ${COLUMNS} from messages
     where to_peer_id = :to_peer_id and state = 'queued' and not exists (
       select 1 from messages as held
       where held.to_peer_id = :to_peer_id and held.state = 'queued' and held.urgent = 1
         and held.created_at > :after and held.created_at <= :until
         and held.seq <= messages.seq
         and held.from_peer_name = messages.from_peer_name)
     order by seq limit 1`,
    { to_peer_id, ...held },
  );
}

/**
 * The urgent messages of a peer's queue, oldest first, with the earlier messages of the same
 * senders: the order of each sender is kept.
 */
export function urgentQueue(db: Reader, to_peer_id: string, limit: number): StoredMessage[] {
  return selectMessages(
    db,
    `where to_peer_id = :to_peer_id and state = 'queued' and seq <= (
       select max(seq) from messages as later
       where later.to_peer_id = :to_peer_id and later.state = 'queued' and later.urgent = 1
         and later.from_peer_name = messages.from_peer_name)
     order by seq limit :limit`,
    { to_peer_id, limit },
  );
}

/** The peers for which urgent messages wait. */
export function peersWithUrgent(db: Database): string[] {
  return db.values(
    z.string(),
    "select distinct to_peer_id from messages where urgent = 1 and state = 'queued'",
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
