/**
 * SQL of the table `messages`. A row is a message, its delivery and, for an ask, the outcome. It is
 * one file because a reader looks for a statement on this table in one place.
 */

import * as z from "zod";
import { bulkInsert } from "kit/data/deferred_inserts.ts";
import { type Reader, rowOf, toAssignments, type Tx } from "kit/data/sqlite.ts";
import type { Reason } from "protocol/reasons.ts";
import { AuthorKind } from "protocol/peers/record.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { isOutside } from "protocol/derived/origins.ts";
import { toWire } from "protocol/messages/attachments.ts";
import { type AskFields, StoredMessage } from "protocol/messages/contract.ts";
import type { MessageProof } from "protocol/proofs/contract.ts";
import { DELIVERY_ID, identOf, idParams, selectMessages, selectOf, WHERE_ID } from "./rows.ts";

/** The columns of a new row. All others are null, or have their default. */
const NEW_ROW: {
  readonly [column: string]: (
    message: StoredMessage,
    opening: AskFields | undefined,
  ) => string | number | null;
} = {
  seq: ({ seq }) => seq,
  ident: ({ delivery_id }) => identOf(delivery_id),
  kind: ({ kind }) => kind,
  correlation_id: ({ correlation_id }) => correlation_id,
  item_id: ({ item_id }) => item_id,
  from_peer_id: ({ from_peer_id }) => from_peer_id,
  from_peer_name: ({ from_peer_name }) => from_peer_name,
  to_peer_id: ({ to_peer_id }) => to_peer_id,
  to_peer_name: ({ to_peer_name }) => to_peer_name,
  circle: ({ circle }) => circle,
  text: ({ text }) => text,
  attachments: ({ attachments }) =>
    attachments.length === 0 ? "[]" : JSON.stringify(toWire(attachments)),
  voice: ({ voice }) => voice,
  chain: ({ chain }) => chain && JSON.stringify(chain),
  outside: ({ chain }) => isOutside(chain) ? 1 : 0,
  sent_by: ({ sent_by }) => sent_by,
  urgent: ({ urgent }) => urgent ? 1 : 0,
  reply_to: ({ reply_to }) => reply_to,
  question: ({ question }) => question && JSON.stringify(question),
  traceparent: ({ traceparent }) => traceparent,
  state: ({ state }) => state,
  rung: ({ transport }) => transport,
  repeatable: ({ repeatable }) => repeatable ? 1 : 0,
  attempts: ({ attempts }) => attempts,
  created_at: ({ created_at }) => created_at,
  attempted_at: ({ attempted_at }) => attempted_at,
  accepted_at: ({ accepted_at }) => accepted_at,
  expires_at: ({ expires_at }) => expires_at,
  close_reason: ({ close_reason }) => close_reason,
  outcome: ({ outcome }) => outcome,
  ask_state: (_, opening) => opening ? "open" : null,
  reply_delivery: (_, opening) => opening?.reply_delivery ?? null,
  origin: (_, opening) => opening?.origin ? JSON.stringify(opening.origin) : null,
  parent_id: (_, opening) => opening?.parent_id ?? null,
  routing: (_, opening) => opening?.routing ? JSON.stringify(opening.routing) : null,
};
const INSERT = bulkInsert("messages", Object.keys(NEW_ROW));
const NEW_VALUES = Object.values(NEW_ROW);

/** Inserts a message. The database accepts it for certain: its number is new. */
export function insert(tx: Tx, message: StoredMessage, opening?: AskFields): void {
  tx.insertLater(INSERT, NEW_VALUES.map((valueOf) => valueOf(message, opening)));
}

const Seq = z.number();

/** The highest row number ever given, deleted rows included. */
export function lastSeq(db: Reader): number {
  return db.value(Seq, "select seq from sqlite_sequence where name = 'messages'") ?? 0;
}

export function findMessage(db: Reader, delivery_id: string): StoredMessage | undefined {
  return selectMessages(db, `where ${WHERE_ID}`, idParams(delivery_id))[0];
}

export function findMessageBySeq(db: Reader, seq: number): StoredMessage | undefined {
  return selectMessages(db, `where seq = :seq`, { seq })[0];
}

/** The queued messages of a peer, oldest first. */
export function queue(db: Reader, to_peer_id: string, limit: number): StoredMessage[] {
  return selectMessages(
    db,
    `where to_peer_id = :to_peer_id and state = 'queued'
     order by seq limit :limit`,
    { to_peer_id, limit },
  );
}

/** Number of asks and notifications that wait for a peer or are under way, up to `limit`. */
export function waitingCount(db: Reader, to_peer_id: string, limit: number): number {
  return db.value(
    z.number(),
    `select count(*) from (
       select 1 from messages
       where to_peer_id = :to_peer_id and state = 'queued' and kind in ('ask', 'notify')
       union all
       select 1 from messages
       where to_peer_id = :to_peer_id and under_way = 1 and kind in ('ask', 'notify')
       limit :limit)`,
    { to_peer_id, limit },
  ) ?? 0;
}

/** Peers with queued messages. The recursion takes one step per peer, not one per message. */
export function peersWaiting(db: Reader): string[] {
  return db.values(
    z.string(),
    `with recursive peer (id) as (
       select min(to_peer_id) from messages where state = 'queued'
       union all
       select (select min(to_peer_id) from messages where state = 'queued' and to_peer_id > id)
       from peer where id is not null)
     select id from peer where id is not null`,
  );
}

/** The fields that each tick reads of a queue, without the text. */
const QueuedMessage = StoredMessage.pick({
  seq: true,
  to_peer_id: true,
  transport: true,
  repeatable: true,
  reason: true,
  urgent: true,
  created_at: true,
});
export type QueuedMessage = z.output<typeof QueuedMessage>;
const QueuedRow = rowOf(QueuedMessage);
const SELECT_QUEUED = selectOf(QueuedMessage);

/** The first queued message of a peer. */
export function firstQueued(db: Reader, to_peer_id: string): QueuedMessage | undefined {
  return db.get(
    QueuedRow,
    `${SELECT_QUEUED} where to_peer_id = :to_peer_id and state = 'queued' order by seq limit 1`,
    { to_peer_id },
  );
}

/** The delivery ids of the asks that are queued for a peer, oldest first. */
export function queuedAsks(db: Reader, to_peer_id: string, limit: number): string[] {
  return db.values(
    z.string(),
    `select 'qd-' || ident from messages where to_peer_id = :to_peer_id and state = 'queued'
       and kind = 'ask' order by seq limit :limit`,
    { to_peer_id, limit },
  );
}

/**
 * The first queued message of a peer that is neither urgent nor sent after an urgent message of the
 * same sender. Only urgent messages of the time after `after`, up to `until`, count as urgent.
 */
export function firstNotHeld(
  db: Reader,
  to_peer_id: string,
  held: { readonly after: number; readonly until: number },
): QueuedMessage | undefined {
  return db.get(
    QueuedRow,
    `${SELECT_QUEUED} left join (
       select from_peer_name as sender, min(seq) as first_held from messages
       where to_peer_id = :to_peer_id and state = 'queued' and urgent = 1
         and created_at > :after and created_at <= :until
       group by from_peer_name) on sender = from_peer_name
     where to_peer_id = :to_peer_id and state = 'queued'
       and (first_held is null or first_held > seq)
     order by seq limit 1`,
    { to_peer_id, ...held },
  );
}

/** The urgent messages of a queue, oldest first, with the earlier ones of the same senders. */
export function urgentQueue(db: Reader, to_peer_id: string, limit: number): StoredMessage[] {
  return selectMessages(
    db,
    `join (
       select from_peer_name as sender, max(seq) as last_urgent from messages
       where to_peer_id = :to_peer_id and state = 'queued' and urgent = 1
       group by from_peer_name) on sender = from_peer_name
     where to_peer_id = :to_peer_id and state = 'queued' and seq <= last_urgent
     order by seq limit :limit`,
    { to_peer_id, limit },
  );
}

/** The peers for which urgent messages wait. */
export function peersWithUrgent(db: Reader): string[] {
  return db.values(
    z.string(),
    "select distinct to_peer_id from messages where urgent = 1 and state = 'queued'",
  );
}

export function queuedCount(db: Reader, to_peer_id: string): number {
  const statement = `select count(*) from messages
    where to_peer_id = :to_peer_id and state = 'queued'`;
  return db.value(z.number(), statement, { to_peer_id }) ?? 0;
}

/** The reason that is stored on the last queued message of a peer. */
export function lastReason(db: Reader, to_peer_id: string): string | null | undefined {
  return db.value(
    z.string().nullable(),
    `select reason from messages where to_peer_id = :to_peer_id and state = 'queued'
     order by seq desc limit 1`,
    { to_peer_id },
  );
}

// Steps of a delivery. The state machine, not SQL, decides which step may follow.

/** The columns that a step may change. */
interface StepColumns {
  readonly state?: StoredMessage["state"];
  /** The transport. */
  readonly rung?: string;
  readonly repeatable?: 0 | 1;
  readonly attempts?: number;
  readonly attempted_at?: number;
  readonly sent_at?: number;
  readonly accepted_at?: number;
  readonly seen_at?: number;
  /** The time at which the agent got the message's id. */
  readonly named_at?: number;
  readonly settled_at?: number | null;
  readonly reason?: string | null;
}

/** The changes of one step. With `repeatable: 0`, a message is not sent again. */
export function update(tx: Tx, seq: number, changes: StepColumns): void {
  const assignments = toAssignments(Object.keys(changes));
  tx.run(`update messages set ${assignments} where seq = :seq`, { ...changes, seq });
}

/** As `update`, for several messages. */
export function updateAll(tx: Tx, seqs: readonly number[], changes: StepColumns): void {
  const assignments = toAssignments(Object.keys(changes));
  tx.run(
    `update messages set ${assignments} where seq in (select value from json_each(:seqs))`,
    { ...changes, seqs: JSON.stringify(seqs) },
  );
}

/** Records attempts that go out with this commit. */
export function handOver(
  tx: Tx,
  seqs: readonly number[],
  { rung, repeatable, at }: Required<Pick<StepColumns, "rung" | "repeatable">> & { at: number },
): void {
  tx.run(
    `update messages set rung = :rung, repeatable = :repeatable, attempts = attempts + 1,
       attempted_at = :at, sent_at = :at, reason = null, state = 'sent'
     where seq in (select value from json_each(:seqs))`,
    { rung, repeatable, at, seqs: JSON.stringify(seqs) },
  );
}

/** Gives a message another recipient. */
export function redirect(
  tx: Tx,
  seq: number,
  { to_peer_id, to_peer_name }: Pick<StoredMessage, "to_peer_id" | "to_peer_name">,
): void {
  tx.run(
    `update messages set to_peer_id = :to_peer_id, to_peer_name = :to_peer_name
     where seq = :seq`,
    { seq, to_peer_id, to_peer_name },
  );
}

/** Records that frames went out, keeping a receipt's state. Returns the numbers marked now. */
export function markAllWritten(tx: Tx, seqs: readonly number[], at: number): number[] {
  return toRanges(seqs).flatMap(({ first, last }) => {
    // Naming the rows in a `returning` clause, or by a list, takes twice as long.
    const marked = tx.run(
      `update messages set sent_at = :at, state = iif(state = 'attempting', 'sent', state)
       where seq between :first and :last and (sent_at is null or state = 'attempting')`,
      { first, last, at },
    );
    const count = last - first + 1;
    if (marked === count) return Array.from({ length: count }, (_, index) => first + index);
    return tx.values(
      Seq,
      "select seq from messages where seq between :first and :last and sent_at = :at",
      { first, last, at },
    );
  });
}

/** The ranges of consecutive numbers that make up these numbers. */
function toRanges(numbers: readonly number[]): { first: number; last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range && number <= range.last + 1) range.last = number;
    else ranges.push({ first: number, last: number });
  }
  return ranges;
}

/** Stores why a peer's queued messages still wait. */
export function setBlockedReason(tx: Tx, to_peer_id: string, reason: string): void {
  tx.run(
    `update messages set reason = :reason
     where to_peer_id = :to_peer_id and state = 'queued' and reason is not :reason`,
    { to_peer_id, reason },
  );
}

/** Drops a peer's queued messages and returns how many there were. */
export function dropQueue(tx: Tx, to_peer_id: string, reason: Reason, at: number): number {
  return tx.run(
    `update messages set state = 'dropped', reason = :reason, settled_at = :at
     where to_peer_id = :to_peer_id and state = 'queued'`,
    { to_peer_id, reason, at },
  );
}

/**
 * Messages sent to a peer before `before` and never proved, oldest first. Messages sent by socket
 * are left out: a client without receipts never proves a message, and has no hook that could name
 * it to its agent.
 */
export function unproved(
  db: Reader,
  params: { to_peer_id: string; before: number; limit: number },
): StoredMessage[] {
  return selectMessages(
    db,
    `where to_peer_id = :to_peer_id and state = 'sent' and repeatable = 0
       and named_at is null and rung <> 'websocket' and sent_at < :before
     order by seq limit :limit`,
    params,
  );
}

/** Messages whose time has passed and that are queued, being attempted, or may be sent again. */
export function overdue(db: Reader, now: number, limit: number): StoredMessage[] {
  return selectMessages(
    db,
    `where seq in (
       select seq from messages where expires_at > 0 and expires_at <= :now and state = 'queued'
       union all
       select seq from messages where under_way = 1 and expires_at <= :now limit :limit)`,
    { now, limit },
  );
}

/** Messages that are being attempted, or were sent and may be sent again. */
export function unfinished(db: Reader): StoredMessage[] {
  return selectMessages(db, `where under_way = 1 order by seq`);
}

/** Messages to one peer that are being attempted, or were sent and may be sent again. */
export function unfinishedOf(db: Reader, to_peer_id: string): StoredMessage[] {
  const rest = `where under_way = 1 and to_peer_id = :to_peer_id order by seq`;
  return selectMessages(db, rest, { to_peer_id });
}

/** Messages that were drained before `before` and not settled. */
export function unsettledLeases(db: Reader, before: number, limit: number): StoredMessage[] {
  return selectMessages(
    db,
    `where state = 'sent' and repeatable = 1 and rung = 'hook' and sent_at <= :before
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

// The fields of asks. The asks feature decides their content.

/** The end of an ask. */
type AskClosing = Pick<
  Ask,
  | ("correlation_id" | "close_reason" | "outcome" | "reply" | "reply_voice")
  | ("reply_attachments" | "answer" | "responder")
>;

export function closeAsk(tx: Tx, closed: AskClosing, at: number): void {
  tx.run(
    `update messages set ask_state = 'closed', close_reason = :close_reason, outcome = :outcome,
       reply = :reply, reply_voice = :reply_voice, reply_attachments = :reply_attachments,
       answer = :answer, responder = :responder, closed_at = :at
     where ${WHERE_ID}`,
    {
      ...closed,
      ...idParams(closed.correlation_id),
      reply_attachments: JSON.stringify(toWire(closed.reply_attachments)),
      answer: closed.answer && JSON.stringify(closed.answer),
      at,
    },
  );
}

/** Records what a message says about a proof. */
export function setProof(tx: Tx, seq: number, proof: MessageProof): void {
  const text = JSON.stringify(proof);
  tx.run("update messages set proof = :text where seq = :seq", { seq, text });
}

export function setPull(tx: Tx, correlation_id: string): void {
  tx.run(`update messages set reply_delivery = 'pull' where ${WHERE_ID}`, idParams(correlation_id));
}

/** The open asks to a peer, oldest first. */
export function openAskIds(db: Reader, to_peer_id: string): string[] {
  return db.values(
    z.string(),
    `select correlation_id from messages
     where ask_state = 'open' and to_peer_id = :to_peer_id order by created_at, seq`,
    { to_peer_id },
  );
}

/** The routing's choice of an ask's recipient; null if the asker named the recipient. */
export function routingOf(db: Reader, correlation_id: string): Record<string, unknown> | null {
  const found = db.value(
    z.string().nullable(),
    `select routing from messages where ${WHERE_ID} and kind = 'ask' and correlation_id = :id`,
    idParams(correlation_id),
  );
  return found ? JSON.parse(found) : null;
}

/** Stores the id that an asker chose, by which the row is found until it is deleted. */
export function insertChosenId(tx: Tx, correlation_id: string, seq: number): void {
  tx.run("insert into chosen_ids (correlation_id, seq) values (:correlation_id, :seq)", {
    correlation_id,
    seq,
  });
}

const AskParts = z.object({ delivery_id: z.string(), parent_id: z.string().nullable() });

/** The delivery of an ask, and the ask to many that it is part of. */
export function findAskParts(db: Reader, correlation_id: string) {
  return db.get(
    AskParts,
    `select ${DELIVERY_ID}, parent_id from messages where ${WHERE_ID} and kind = 'ask'`,
    idParams(correlation_id),
  );
}

const ChainLink = z.object({
  before: z.string().nullable(),
  voice: AuthorKind,
  to_peer_id: z.string(),
  traceparent: z.string(),
});

/** Reads one ask as a link of its chain, which leads to the ask that it follows up on. */
export function findLink(db: Reader, correlation_id: string) {
  return db.get(
    ChainLink,
    `select coalesce(reply_to, parent_id) as before, voice, to_peer_id, traceparent
     from messages where ${WHERE_ID} and kind = 'ask'`,
    idParams(correlation_id),
  );
}
