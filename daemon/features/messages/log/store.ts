/** SQL of the message log: pages of `messages`, and the full-text index `message_words`. */

import * as z from "zod";
import { indexedText, wordEnds } from "kit/core/words.ts";
import { idsOf } from "../../../data/short_ids.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { idParams, selectOf, WHERE_ID } from "../ledger/rows.ts";
import { Message } from "protocol/messages/log.ts";

const LoggedMessage = Message.omit({ message_id: true, snippet: true })
  .extend({ seq: z.number().int() });
const Row = rowOf(LoggedMessage);
export type Row = z.output<typeof LoggedMessage>;

const MESSAGE = selectOf(LoggedMessage);

export function find(db: Reader, id: string): Row | undefined {
  return db.get(Row, `${MESSAGE} where ${WHERE_ID}`, idParams(id));
}

/** Numbers of messages whose ids begin with these digits, among the newest and the open asks. */
export function startingWith(
  db: Reader,
  params: { digits: string; scanned_max: number; limit: number },
): number[] {
  return db.values(
    z.number(),
    `select seq from (select seq, ident from messages order by seq desc limit :scanned_max)
     where substr(ident, 1, length(:digits)) = :digits
     union
     select seq from messages where seq in (
       select seq from messages indexed by messages_open
       where ask_state = 'open' order by created_at desc, seq desc limit :scanned_max)
       and substr(ident, 1, length(:digits)) = :digits
     order by seq desc limit :limit`,
    params,
  );
}

/** The first ids, chosen by their askers, that begin with `short`. */
export const chosenIds = idsOf("chosen_ids", "correlation_id");

export function bySeqs(db: Reader, seqs: readonly number[]): Row[] {
  return db.all(
    Row,
    `${MESSAGE} where seq in (select value from json_each(:seqs)) order by seq desc`,
    { seqs: JSON.stringify(seqs) },
  );
}

/** One side of a conversation: a peer's id, or the name of an unregistered sender. */
export interface PeerRef {
  readonly peer_id: string | null;
  readonly name: string;
}

/** The messages to return; null matches any. */
export interface Filter {
  readonly peer: PeerRef | null;
  readonly other: PeerRef | null;
  readonly sender: PeerRef | null;
  readonly recipient: PeerRef | null;
  readonly kind: string | null;
  readonly circle: string | null;
  /** A state of a delivery, or `open` or `closed` for asks. */
  readonly state: string | null;
  readonly since: number;
  readonly until: number;
}

/** A request for matching messages with row numbers below `before`, newest first. */
export interface PageRequest {
  readonly filter: Filter;
  readonly before: number;
  readonly limit: number;
}

type PeerRefName = "peer" | "other" | "sender" | "recipient";

const matchesEnd = (end: "from" | "to", which: PeerRefName) =>
  `iif(:${which}_id is null, :${which} in (${end}_peer_id, ${end}_peer_name),
       ${end}_peer_id = :${which}_id)`;

const MATCHES_FILTER = `iif(:kind is null, kind <> 'inbox_item', kind = :kind)
  and created_at >= :since and created_at < :until
  and (:circle is null or circle = :circle)
  and case :state when 'open' then kind = 'ask' and closed_at is null
        when 'closed' then kind = 'ask' and closed_at is not null
        else :state is null or state = :state end
  and iif(:peer is null and :other is null, 1,
      iif(:other is null, ${matchesEnd("from", "peer")} or ${matchesEnd("to", "peer")},
      iif(:peer is null, ${matchesEnd("from", "other")} or ${matchesEnd("to", "other")},
          ${matchesEnd("from", "peer")} and ${matchesEnd("to", "other")}
          or ${matchesEnd("to", "peer")} and ${matchesEnd("from", "other")})))
  and iif(:sender is null, 1, ${matchesEnd("from", "sender")})
  and iif(:recipient is null, 1, ${matchesEnd("to", "recipient")})`;

/** The size of a message's texts, without reading them. */
const BYTES = "octet_length(text) + coalesce(octet_length(reply), 0) as bytes";

function paramsOf(
  { peer, other, sender, recipient, kind, circle, state, since, until }: Filter,
) {
  return {
    kind,
    circle,
    state,
    since,
    until,
    peer: peer?.name ?? null,
    peer_id: peer?.peer_id ?? null,
    other: other?.name ?? null,
    other_id: other?.peer_id ?? null,
    sender: sender?.name ?? null,
    sender_id: sender?.peer_id ?? null,
    recipient: recipient?.name ?? null,
    recipient_id: recipient?.peer_id ?? null,
  };
}

const Hit = z.object({ seq: z.number(), bytes: z.number() });
export type Hit = z.output<typeof Hit>;

/** Matching messages whose number is at least `floor` and less than `before`. */
export function hits(db: Reader, { filter, before, limit }: PageRequest, floor: number): Hit[] {
  return db.all(
    Hit,
    `select seq, ${BYTES} from messages
     where seq < :before and seq >= :floor and ${MATCHES_FILTER} order by seq desc limit :limit`,
    { ...paramsOf(filter), before, floor, limit },
  );
}

/** Matching messages among the newest `scanned_max` results of a full-text search. */
export function search(
  db: Reader,
  { filter, before, limit }: PageRequest,
  { match, scanned_max }: { match: string; scanned_max: number },
): Hit[] {
  return db.all(
    Hit,
    `with found (seq) as materialized (
       select rowid from message_words where message_words match :match and rowid < :before
       order by rowid desc limit :scanned_max)
     select seq, ${BYTES} from found join messages using (seq)
     where ${MATCHES_FILTER} order by seq desc limit :limit`,
    { ...paramsOf(filter), before, limit, match, scanned_max },
  );
}

/** The number of the last message that `search` reads; undefined if it reads all. */
export function lastScanned(
  db: Reader,
  { before, match, scanned_max }: { before: number; match: string; scanned_max: number },
): number | undefined {
  return db.value(
    z.number(),
    `select rowid from message_words
     where message_words match :match and rowid < :before
     order by rowid desc limit 1 offset :scanned_max - 1`,
    { before, match, scanned_max },
  );
}

const Position = z.object({ seq: z.number(), created_at: z.number() });

/** The smallest row number at or above `floor`. */
export function oldestFrom(db: Reader, floor: number): number {
  const oldest = "select min(seq) from messages where seq >= :floor";
  return db.value(z.number().nullable(), oldest, { floor }) ?? floor;
}

/** The newest message below a number. */
export function newestBelow(db: Reader, before: number) {
  return db.get(
    Position,
    "select seq, created_at from messages where seq < :before order by seq desc limit 1",
    { before },
  );
}

const IndexCursor = z.object({ seq: z.number(), event: z.number() });
export type IndexCursor = z.output<typeof IndexCursor>;

/** The last indexed message and the last indexed event. */
export function cursor(db: Reader): IndexCursor | undefined {
  return db.get(IndexCursor, "select seq, event from word_marks");
}

export function saveCursor(tx: Tx, { seq, event }: IndexCursor): void {
  tx.run(
    `insert into word_marks (one, seq, event) values (1, :seq, :event)
     on conflict (one) do update set seq = excluded.seq, event = excluded.event`,
    { seq, event },
  );
}

const MessageTexts = z.object({ seq: z.number(), text: z.string(), reply: z.string().nullable() });
type MessageTexts = z.output<typeof MessageTexts>;

export function textsAfter(db: Reader, seq: number, limit: number): MessageTexts[] {
  return db.all(
    MessageTexts,
    "select seq, text, reply from messages where seq > :seq order by seq limit :limit",
    { seq, limit },
  );
}

/** Number of messages after a row number; counts at most `limit`. */
export function countAfter(db: Reader, seq: number, limit: number): number {
  return db.value(
    z.number(),
    "select count(*) from (select 1 from messages where seq > :seq limit :limit)",
    { seq, limit },
  ) ?? 0;
}

export function textsOf(db: Reader, correlation_id: string): MessageTexts | undefined {
  return db.get(
    MessageTexts,
    `select seq, text, reply from messages where ${WHERE_ID}`,
    idParams(correlation_id),
  );
}

/** Indexes the texts of a message, replacing its earlier entry. */
export function index(tx: Tx, { seq, text, reply }: MessageTexts): void {
  tx.run(
    `insert or replace into message_words (rowid, text, reply, ends)
     values (:seq, :text, :reply, :ends)`,
    {
      seq,
      text: indexedText(text),
      reply: reply === null ? null : indexedText(reply),
      ends: wordEnds(reply === null ? text : `${text} ${reply}`),
    },
  );
}

export function unindex(tx: Tx, seq: number): void {
  tx.run("delete from message_words where rowid = :seq", { seq });
}
