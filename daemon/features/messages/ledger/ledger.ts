/** SQL of the table `messages`. A row is a message, its delivery and, for an ask, the outcome. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import type { Reason } from "kit/core/reasons.ts";
import { type Attachments, toWire } from "../attachments/contract.ts";
import type { AskFields, StoredMessage } from "../contract.ts";
import { identOf, idParams, SELECT_MESSAGE, StoredMessageRow, WHERE_ID } from "./rows.ts";

const INSERT = `insert into messages
  (seq, ident, kind, correlation_id, item_id, from_peer_id, from_peer_name, to_peer_id,
   to_peer_name, circle, text, attachments, voice, reply_to, question, traceparent, state, rung,
   repeatable, attempts, created_at, attempted_at, accepted_at, expires_at, close_reason, outcome,
   ask_state, reply_delivery, origin, parent_id, routing)
  values
  (:seq, :ident, :kind, :correlation_id, :item_id, :from_peer_id, :from_peer_name, :to_peer_id,
   :to_peer_name, :circle, :text, :attachments, :voice, :reply_to, :question, :traceparent, :state,
   :transport, :repeatable, :attempts, :created_at, :attempted_at, :accepted_at, :expires_at,
   :close_reason, :outcome, :ask_state, :reply_delivery, :origin, :parent_id, :routing)`;

export function insert(tx: Tx, message: StoredMessage, opening?: AskFields): void {
  const { origin = null, parent_id = null, routing = null } = opening ?? {};
  tx.insert(INSERT, {
    seq: message.seq,
    ident: identOf(message.delivery_id),
    kind: message.kind,
    correlation_id: message.correlation_id,
    item_id: message.item_id,
    from_peer_id: message.from_peer_id,
    from_peer_name: message.from_peer_name,
    to_peer_id: message.to_peer_id,
    to_peer_name: message.to_peer_name,
    circle: message.circle,
    text: message.text,
    attachments: message.attachments.length === 0
      ? "[]"
      : JSON.stringify(toWire(message.attachments)),
    voice: message.voice,
    reply_to: message.reply_to,
    question: message.question && JSON.stringify(message.question),
    traceparent: message.traceparent,
    state: message.state,
    transport: message.transport,
    repeatable: message.repeatable ? 1 : 0,
    attempts: message.attempts,
    created_at: message.created_at,
    attempted_at: message.attempted_at,
    accepted_at: message.accepted_at,
    expires_at: message.expires_at,
    close_reason: message.close_reason,
    outcome: message.outcome,
    ask_state: opening ? "open" : null,
    reply_delivery: opening?.reply_delivery ?? null,
    origin: origin && JSON.stringify(origin),
    parent_id,
    routing: routing && JSON.stringify(routing),
  });
}

const Last = z.object({ seq: z.number() });

/** The highest row number ever given, deleted rows included. */
export function lastSeq(db: Reader): number {
  return db.get(Last, "select seq from sqlite_sequence where name = 'messages'")?.seq ?? 0;
}

export function findMessage(db: Reader, delivery_id: string): StoredMessage | undefined {
  return db.get(StoredMessageRow, `${SELECT_MESSAGE} where ${WHERE_ID}`, idParams(delivery_id));
}

export function findMessageBySeq(db: Reader, seq: number): StoredMessage | undefined {
  return db.get(StoredMessageRow, `${SELECT_MESSAGE} where seq = :seq`, { seq });
}

/** The queued messages of a peer, oldest first. */
export function queue(db: Reader, to_peer_id: string, limit: number): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where to_peer_id = :to_peer_id and state = 'queued'
     order by seq limit :limit`,
    { to_peer_id, limit },
  );
}

const Count = z.object({ count: z.number() });

/** How many asks and notifications wait for a peer. Counts up to `limit` only. */
export function waitingCount(db: Reader, to_peer_id: string, limit: number): number {
  const found = db.get(
    Count,
    `select count(*) as count from (
       select 1 from messages
       where to_peer_id = :to_peer_id and state = 'queued' and kind in ('ask', 'notify')
       union all
       select 1 from messages
       where to_peer_id = :to_peer_id and under_way = 1 and kind in ('ask', 'notify')
       limit :limit)`,
    { to_peer_id, limit },
  );
  return found?.count ?? 0;
}

const PeerId = z.object({ to_peer_id: z.string() });

/** Peers with queued messages. The recursion takes one step per peer, not one per message. */
export function peersWaiting(db: Reader): string[] {
  return db.all(
    PeerId,
    `with recursive peer (id) as (
       select min(to_peer_id) from messages where state = 'queued'
       union all
       select (select min(to_peer_id) from messages where state = 'queued' and to_peer_id > id)
       from peer where id is not null)
     select id as to_peer_id from peer where id is not null`,
  ).map(({ to_peer_id }) => to_peer_id);
}

// Steps of a delivery. The state machine, not SQL, decides which step may follow.

export function markAttempting(
  tx: Tx,
  { seq, transport, repeatable, at }: {
    seq: number;
    transport: string;
    repeatable: boolean;
    at: number;
  },
): void {
  tx.run(
    `update messages set state = 'attempting', rung = :transport, repeatable = :repeatable,
       attempts = attempts + 1, attempted_at = :at, reason = null where seq = :seq`,
    { seq, transport, repeatable: repeatable ? 1 : 0, at },
  );
}

export function markWritten(tx: Tx, seq: number, at: number, reason: string | null): void {
  tx.run(
    "update messages set state = 'sent', sent_at = :at, reason = :reason where seq = :seq",
    { seq, at, reason },
  );
}

/** Records that a frame went out, perhaps again. If a receipt came first, its state is kept. */
export function markWrittenOnce(tx: Tx, seq: number, at: number): number {
  return tx.run(
    `update messages set sent_at = :at, state = iif(state = 'attempting', 'sent', state)
     where seq = :seq and (sent_at is null or state = 'attempting')`,
    { seq, at },
  );
}

export function markAccepted(tx: Tx, seq: number, at: number): void {
  tx.run("update messages set state = 'accepted', accepted_at = :at where seq = :seq", { seq, at });
}

export function markSeen(tx: Tx, seq: number, at: number): void {
  tx.run(
    "update messages set state = 'seen', seen_at = :at, named_at = :at where seq = :seq",
    { seq, at },
  );
}

export function requeue(tx: Tx, seq: number, reason: string | null): void {
  tx.run(
    `update messages set state = 'queued', reason = :reason, settled_at = null where seq = :seq`,
    { seq, reason },
  );
}

/** Stores why a peer's queued messages still wait. */
export function setBlockedReason(tx: Tx, to_peer_id: string, reason: string): void {
  tx.run(
    `update messages set reason = :reason
     where to_peer_id = :to_peer_id and state = 'queued' and reason is not :reason`,
    { to_peer_id, reason },
  );
}

export function settle(
  tx: Tx,
  { seq, state, reason, at }: {
    seq: number;
    state: "failed" | "expired" | "dropped";
    reason: string;
    at: number;
  },
): void {
  tx.run(
    "update messages set state = :state, reason = :reason, settled_at = :at where seq = :seq",
    { seq, state, reason, at },
  );
}

const Dropped = z.object({ seq: z.number() });

/** Drops a peer's queued messages and returns their row numbers. */
export function dropQueue(db: Reader, to_peer_id: string, reason: Reason, at: number) {
  return db.all(
    Dropped,
    `update messages set state = 'dropped', reason = :reason, settled_at = :at
     where to_peer_id = :to_peer_id and state = 'queued'
     returning seq`,
    { to_peer_id, reason, at },
  );
}

/**
 * Messages sent to a peer before `before` and never proved, oldest first. Messages sent by socket
 * are left out: a client without receipts never proves a message, and has no hook that could tell
 * its agent.
 */
export function unproved(
  db: Reader,
  params: { to_peer_id: string; before: number; limit: number },
): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where to_peer_id = :to_peer_id and state = 'sent' and repeatable = 0
       and named_at is null and rung <> 'websocket' and sent_at < :before
     order by seq limit :limit`,
    params,
  );
}

export function markNamed(tx: Tx, seq: number, at: number): void {
  tx.run("update messages set named_at = :at where seq = :seq", { seq, at });
}

/** Messages whose time has passed and that are queued, or would be sent again. */
export function overdue(db: Reader, now: number, limit: number): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where seq in (
       select seq from messages where expires_at > 0 and expires_at <= :now and state = 'queued'
       union all
       select seq from messages where under_way = 1 and expires_at <= :now limit :limit)`,
    { now, limit },
  );
}

/** Makes sure that a message is not sent again. */
export function stopRepeating(tx: Tx, seq: number): void {
  tx.run("update messages set repeatable = 0 where seq = :seq", { seq });
}

/** Messages that are being attempted, or were sent and may be sent again. */
export function unfinished(db: Reader): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where under_way = 1 order by seq`,
  );
}

/** Messages to one peer that are being attempted, or were sent and may be sent again. */
export function unfinishedOf(db: Reader, to_peer_id: string): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where under_way = 1 and to_peer_id = :to_peer_id order by seq`,
    { to_peer_id },
  );
}

/** Messages that were drained before `before` and not settled. */
export function unsettledLeases(db: Reader, before: number, limit: number): StoredMessage[] {
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE}
     where state = 'sent' and repeatable = 1 and rung = 'hook' and sent_at <= :before
     limit :limit`,
    { before, limit },
  );
}

/** Deletes messages by their row numbers, which SQLite never uses again. */
export function remove(tx: Tx, seqs: readonly number[]): void {
  tx.run("delete from messages where seq in (select value from json_each(:seqs))", {
    seqs: JSON.stringify(seqs),
  });
}

// The fields of asks. The asks feature decides what they hold.

/** How an ask was closed. */
export interface AskClosing {
  readonly correlation_id: string;
  readonly close_reason: string | null;
  readonly outcome: string | null;
  readonly reply: string | null;
  readonly reply_voice: string | null;
  readonly reply_attachments: Attachments;
  readonly answer: Readonly<Record<string, unknown>> | null;
  readonly responder: string | null;
}

export function closeAsk(tx: Tx, closed: AskClosing, at: number): void {
  tx.run(
    `update messages set ask_state = 'closed', close_reason = :close_reason, outcome = :outcome,
       reply = :reply, reply_voice = :reply_voice, reply_attachments = :reply_attachments,
       answer = :answer, responder = :responder, closed_at = :at
     where ${WHERE_ID}`,
    {
      ...idParams(closed.correlation_id),
      close_reason: closed.close_reason,
      outcome: closed.outcome,
      reply: closed.reply,
      reply_voice: closed.reply_voice,
      reply_attachments: JSON.stringify(toWire(closed.reply_attachments)),
      answer: closed.answer && JSON.stringify(closed.answer),
      responder: closed.responder,
      at,
    },
  );
}

export function setPull(tx: Tx, correlation_id: string): void {
  tx.run(`update messages set reply_delivery = 'pull' where ${WHERE_ID}`, idParams(correlation_id));
}

const CorrelationId = z.object({ correlation_id: z.string() });

/** The open asks to a peer, oldest first. */
export function openAskIds(db: Reader, to_peer_id: string): string[] {
  return db.all(
    CorrelationId,
    `select correlation_id from messages
     where ask_state = 'open' and to_peer_id = :to_peer_id order by created_at, seq`,
    { to_peer_id },
  ).map(({ correlation_id }) => correlation_id);
}

const Routing = z.object({ routing: z.string().nullable() });

/** How routing chose the recipient of an ask; null if the asker named the recipient. */
export function routingOf(db: Reader, correlation_id: string): Record<string, unknown> | null {
  const found = db.get(
    Routing,
    `select routing from messages where ${WHERE_ID} and kind = 'ask' and correlation_id = :id`,
    idParams(correlation_id),
  );
  return found?.routing ? JSON.parse(found.routing) : null;
}

/** Stores the id that an asker chose, by which the row is found until it is deleted. */
export function insertChosenId(tx: Tx, correlation_id: string, seq: number): void {
  tx.run("insert into chosen_ids (correlation_id, seq) values (:correlation_id, :seq)", {
    correlation_id,
    seq,
  });
}
