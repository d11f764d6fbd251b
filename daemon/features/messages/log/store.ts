/** SQL of everything said: pages of the ledger, and the full text beside it. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { BY_ID, byId, DELIVERY_ID } from "../ledger/rows.ts";
import { Message } from "./contract.ts";

const Row = rowOf(
  Message.omit({ message_id: true, snippet: true }).extend({ seq: z.number().int() }),
);
export type Row = z.output<typeof Row>;

const MESSAGE = `select seq, ${DELIVERY_ID}, kind, correlation_id, from_peer_id, from_peer_name,
  to_peer_id, to_peer_name, circle, text, attachments, reply_to, parent_id, state, reason,
  created_at, closed_at, close_reason, outcome, reply, responder
  from messages`;

export function message(db: Reader, id: string): Row | undefined {
  return db.get(Row, `${MESSAGE} where ${BY_ID}`, byId(id));
}

export function bySeqs(db: Reader, seqs: readonly number[]): Row[] {
  return db.all(
    Row,
    `${MESSAGE} where seq in (select value from json_each(:seqs)) order by seq desc`,
    { seqs: JSON.stringify(seqs) },
  );
}

/** One side of a conversation: a peer by its id, else a name or id that is not registered. */
export interface Side {
  readonly peer_id: string | null;
  readonly name: string;
}

/** Which messages; all that is null does not matter. */
export interface Filter {
  readonly peer: Side | null;
  readonly other: Side | null;
  readonly kind: string | null;
  readonly since: number;
  readonly until: number;
}

/** Which part of them: below a number, newest first. */
export interface Part {
  readonly filter: Filter;
  readonly before: number;
  readonly limit: number;
}

const is = (end: "from" | "to", side: "peer" | "other") =>
  `iif(:${side}_id is null, :${side} in (${end}_peer_id, ${end}_peer_name),
       ${end}_peer_id = :${side}_id)`;

const FITS = `iif(:kind is null, kind <> 'inbox_item', kind = :kind)
  and created_at >= :since and created_at < :until
  and iif(:peer is null and :other is null, 1,
      iif(:other is null, ${is("from", "peer")} or ${is("to", "peer")},
      iif(:peer is null, ${is("from", "other")} or ${is("to", "other")},
          ${is("from", "peer")} and ${is("to", "other")}
          or ${is("to", "peer")} and ${is("from", "other")})))`;

/** How much of a page a message is, without reading its text. */
const BYTES = "octet_length(text) + coalesce(octet_length(reply), 0) as bytes";

function paramsOf({ peer, other, kind, since, until }: Filter) {
  return {
    kind,
    since,
    until,
    peer: peer?.name ?? null,
    peer_id: peer?.peer_id ?? null,
    other: other?.name ?? null,
    other_id: other?.peer_id ?? null,
  };
}

const Hit = z.object({ seq: z.number(), bytes: z.number() });
export type Hit = z.output<typeof Hit>;

/** What fits, of the numbers from `floor` up. */
export function hits(db: Reader, { filter, before, limit }: Part, floor: number): Hit[] {
  return db.all(
    Hit,
    `select seq, ${BYTES} from messages
     where seq < :before and seq >= :floor and ${FITS} order by seq desc limit :limit`,
    { ...paramsOf(filter), before, floor, limit },
  );
}

/** The same, of the newest `looked_max` that a search finds. */
export function found(
  db: Reader,
  { filter, before, limit }: Part,
  { match, looked_max }: { match: string; looked_max: number },
): Hit[] {
  return db.all(
    Hit,
    `with found (seq) as materialized (
       select rowid from message_words where message_words match :match and rowid < :before
       order by rowid desc limit :looked_max)
     select seq, ${BYTES} from found join messages using (seq)
     where ${FITS} order by seq desc limit :limit`,
    { ...paramsOf(filter), before, limit, match, looked_max },
  );
}

const Looked = z.object({ seq: z.number() });

/** The number of the last that such a search looks at; undefined when it comes to the end. */
export function lastLooked(
  db: Reader,
  { before, match, looked_max }: { before: number; match: string; looked_max: number },
): number | undefined {
  return db.get(
    Looked,
    `select rowid as seq from message_words
     where message_words match :match and rowid < :before
     order by rowid desc limit 1 offset :looked_max - 1`,
    { before, match, looked_max },
  )?.seq;
}

const Standing = z.object({ seq: z.number(), created_at: z.number() });

/** The newest message below a number. */
export function below(db: Reader, before: number) {
  return db.get(
    Standing,
    "select seq, created_at from messages where seq < :before order by seq desc limit 1",
    { before },
  );
}

const Marks = z.object({ seq: z.number(), event: z.number() });
export type Marks = z.output<typeof Marks>;

/** How far the full text has come: the last message, and the last event. */
export function marks(db: Reader): Marks | undefined {
  return db.get(Marks, "select seq, event from word_marks");
}

export function mark(tx: Tx, { seq, event }: Marks): void {
  tx.run(
    `insert into word_marks (one, seq, event) values (1, :seq, :event)
     on conflict (one) do update set seq = excluded.seq, event = excluded.event`,
    { seq, event },
  );
}

const Words = z.object({ seq: z.number(), text: z.string(), reply: z.string().nullable() });
export type Words = z.output<typeof Words>;

export function after(db: Reader, seq: number, limit: number): Words[] {
  return db.all(
    Words,
    "select seq, text, reply from messages where seq > :seq order by seq limit :limit",
    { seq, limit },
  );
}

export function wordsOf(db: Reader, correlation_id: string): Words | undefined {
  return db.get(
    Words,
    `select seq, text, reply from messages where ${BY_ID}`,
    byId(correlation_id),
  );
}

/** The words of a message, in place of those that were known of it. */
export function feed(tx: Tx, { seq, text, reply }: Words): void {
  tx.run(
    "insert or replace into message_words (rowid, text, reply) values (:seq, :text, :reply)",
    { seq, text, reply },
  );
}

export function unfeed(tx: Tx, seq: number): void {
  tx.run("delete from message_words where rowid = :seq", { seq });
}
