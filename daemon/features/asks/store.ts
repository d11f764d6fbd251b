/** SQL of asks in `messages`, waits (`held_asks`) and parents of asks to many (`ask_parents`). */

import * as z from "zod";
import { Instant, INSTANT_MS_MAX } from "kit/core/schema.ts";
import { type Reader, rowOf, tableOf, type Tx } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { idParams, WHERE_ID } from "../messages/ledger/rows.ts";
import { Ask, Thread } from "protocol/asks/contract.ts";
import { idsOf } from "../../data/short_ids.ts";
import { ChildAsk } from "protocol/asks/many.ts";

const AskRow = rowOf(Ask);

/** The time at which the asker of a blocking question stops waiting. */
export const EXPIRES_AT = `iif(question ->> 'blocking',
  cast(min(created_at + (question ->> 'timeout_seconds') * 1000.0, ${INSTANT_MS_MAX}) as integer),
  null)`;

const ASK_COLUMNS = `correlation_id, from_peer_id, from_peer_name, to_peer_id, to_peer_name, voice,
  voice = 'unverified' as unverified, chain, circle,
  text, attachments, reply_to, parent_id, question, answer, origin, routing, reply_delivery,
  ask_state as state, case ask_state when 'open' then 'pending' else 'resolved' end as status,
  close_reason, outcome, reply, reply_voice, coalesce(reply_attachments, '[]') as reply_attachments,
  responder, created_at,
  ${EXPIRES_AT} as expires_at,
  coalesce(accepted_at, seen_at) as delivered_at, seen_at, closed_at,
  (select min(ts) from stages
   where stages.ident = messages.ident and stage = 'reminded') as reminded_at`;

/** The asks that satisfy a condition. */
function asksWhere(db: Reader, condition: string, params: Params): Ask[] {
  return db.all(AskRow, `select ${ASK_COLUMNS} from messages where ${condition}`, params);
}

const OPEN_TO = "ask_state = 'open' and to_peer_id = :to_peer_id";
/** Leaves out the asks with an answer that is being checked. */
const IS_OWED = "coalesce(proof ->> 'state', '') <> 'proving'";

/** Selects asks with their row numbers, which are the cursors of pages. */
const SELECT_NUMBERED_ASK = `select seq, ${ASK_COLUMNS} from messages`;

export function ask(db: Reader, correlation_id: string): Ask | undefined {
  const condition = `${WHERE_ID} and kind = 'ask' and correlation_id = :id`;
  return asksWhere(db, condition, idParams(correlation_id))[0];
}

export function openTo(db: Reader, to_peer_id: string): Ask[] {
  return asksWhere(db, `${OPEN_TO} order by created_at, seq`, { to_peer_id });
}

/** The open asks to a peer that wait for an answer from it. */
export function owedBy(db: Reader, to_peer_id: string): Ask[] {
  return asksWhere(db, `${OPEN_TO} and ${IS_OWED} order by created_at, seq`, { to_peer_id });
}

/** The oldest open asks to a peer that it has seen, and was not reminded of. */
export function unanswered(db: Reader, to_peer_id: string, limit: number): Ask[] {
  const condition = `${OPEN_TO} and seen_at is not null and reminded_at is null and ${IS_OWED}`;
  const first = `${condition} order by created_at, seq limit :limit`;
  return asksWhere(db, first, { to_peer_id, limit });
}

/** The open asks to a peer that it had seen by this time, oldest first. */
export function seenBefore(
  db: Reader,
  filter: { to_peer_id: string; at: number; limit: number },
): Ask[] {
  return asksWhere(
    db,
    `${OPEN_TO} and ${IS_OWED} and seen_at <= :at order by created_at, seq limit :limit`,
    filter,
  );
}

/** The asks that these peers have answered since then, the latest first. */
export function answeredBy(
  db: Reader,
  filter: { peer_ids: readonly string[]; since: number; limit: number },
): string[] {
  const found = db.all(
    z.object({ correlation_id: z.string() }),
    `select correlation_id from messages indexed by messages_closed
     where closed_at >= :since and outcome in ('answered', 'acknowledged')
       and to_peer_id in (select value from json_each(:peer_ids))
     order by closed_at desc, seq desc limit :limit`,
    { ...filter, peer_ids: JSON.stringify(filter.peer_ids) },
  );
  return found.map(({ correlation_id }) => correlation_id);
}

/** True if a peer waits for the answer to an ask of its own. */
export function hasOpenFrom(db: Reader, from_peer_id: string): boolean {
  const statement = `select 1 from messages
    where ask_state = 'open' and from_peer_id = :from_peer_id limit 1`;
  return db.value(z.number(), statement, { from_peer_id }) !== undefined;
}

export function openFrom(
  db: Reader,
  { peer_id, name }: { peer_id: string | null; name: string },
): Ask[] {
  return asksWhere(
    db,
    `ask_state = 'open'
       and iif(:peer_id is null, from_peer_id is null and from_peer_name = :name,
               from_peer_id = :peer_id)
     order by created_at, seq`,
    { peer_id, name },
  );
}

const PendingAsks = z.object({ count: z.number(), oldest: z.number().nullable() });

export function pendingOf(db: Reader, to_peer_id: string) {
  const statement = `select count(*) as count, min(created_at) as oldest from messages
    where ${OPEN_TO}`;
  const found = db.get(PendingAsks, statement, { to_peer_id });
  return found ?? { count: 0, oldest: null };
}

/** True if an open ask is to a peer or from it. */
export function hasOpen(db: Reader, peer_id: string): boolean {
  const statement = `select 1 from messages where ask_state = 'open'
    and (to_peer_id = :peer_id or from_peer_id = :peer_id) limit 1`;
  return db.value(z.number(), statement, { peer_id }) !== undefined;
}

const Page = rowOf(Ask.extend({ seq: z.number() }));

/** Selects a page of asks; null matches any. Numbers are below `before` and at least `floor`. */
export interface PageFilter {
  readonly state: string | null;
  readonly peer_id: string | null;
  readonly before: number;
  readonly floor?: number;
  readonly limit: number;
}

/**
 * The statement of a page, newest first. Open asks are few among many messages, but SQLite uses
 * their partial index only for the literal state, and prefers the order of rows to it. Their rows
 * are read after the numbers were sorted, because there may be 100,000 of them.
 */
export function pageStatement(state: string | null): string {
  const matching = `seq < :before and seq >= :floor
     and (:peer_id is null or from_peer_id = :peer_id or to_peer_id = :peer_id)
     order by seq desc limit :limit`;
  if (state !== "open") {
    const asks = "kind = 'ask' and (:state is null or ask_state = :state)";
    return `${SELECT_NUMBERED_ASK} where ${asks} and ${matching}`;
  }
  return `${SELECT_NUMBERED_ASK} where seq in (
       select seq from messages indexed by messages_open where ask_state = 'open' and ${matching})
     order by seq desc`;
}

export function page(db: Reader, { state, floor = 0, ...filter }: PageFilter) {
  const stateParam = state === "open" ? {} : { state };
  return db.all(Page, pageStatement(state), { ...stateParam, floor, ...filter });
}

/** Open asks that were created before `before`, except those to the human. */
export function stale(
  db: Reader,
  params: { before: number; human_id: string | null; home_human_id: string | null; limit: number },
): Ask[] {
  return asksWhere(
    db,
    `ask_state = 'open' and created_at < :before
       and to_peer_id is not :human_id and to_peer_id is not :home_human_id
     limit :limit`,
    params,
  );
}

const ThreadRow = rowOf(Thread);

/** The asks of a peer that were closed after `since` and not after `until`, oldest first. */
export function threads(
  db: Reader,
  params: { peer_id: string; since: number; until: number },
): Thread[] {
  return db.all(
    ThreadRow,
    `select correlation_id, created_at as opened_at, closed_at, close_reason,
       iif(to_peer_id = :peer_id, 'recipient', 'asker') as role,
       iif(to_peer_id = :peer_id, from_peer_name, to_peer_name) as other,
       iif(to_peer_id = :peer_id, from_peer_id, to_peer_id) as other_peer_id
     from messages
     where closed_at > :since and closed_at <= :until and kind = 'ask'
       and (from_peer_id = :peer_id or to_peer_id = :peer_id)
     order by closed_at, seq`,
    params,
  );
}

/** The ids of the first asks that continue an ask. */
export function followUps(db: Reader, correlation_id: string): string[] {
  return db.values(
    z.string(),
    `select correlation_id from messages
     where reply_to = :correlation_id and kind = 'ask' order by seq limit 200`,
    { correlation_id },
  );
}

/** The closing time of the ask `count` asks after `since`; undefined if fewer are left. */
export function closedAfter(db: Reader, since: number, count: number): number | undefined {
  return db.value(
    z.number(),
    `select closed_at from messages indexed by messages_closed
     where closed_at > :since order by closed_at limit 1 offset :count - 1`,
    { since, count },
  );
}

const PendingAsksOfPeer = PendingAsks.extend({ to_peer_id: z.string() });

/** The number of open asks to each peer and the time of the oldest, in one query. */
export function pendingOfAll(db: Reader): Map<string, z.output<typeof PendingAsksOfPeer>> {
  const found = db.all(
    PendingAsksOfPeer,
    `select to_peer_id, count(*) as count, min(created_at) as oldest from messages
     where ask_state = 'open' group by to_peer_id`,
  );
  return new Map(found.map((row) => [row.to_peer_id, row]));
}

// The asks whose caller waits on an open connection.

export function insertWait(tx: Tx, correlation_id: string, at_terminal: boolean): void {
  tx.run(
    "insert into held_asks (correlation_id, at_terminal) values (:correlation_id, :at_terminal)",
    { correlation_id, at_terminal: at_terminal ? 1 : 0 },
  );
}

/** True if the agent's own dialog asks the same. It stays open after the last caller has left. */
export function isAtTerminal(db: Reader, correlation_id: string): boolean {
  return db.value(
    z.number(),
    "select at_terminal from held_asks where correlation_id = :correlation_id",
    { correlation_id },
  ) === 1;
}

export function removeWait(tx: Tx, correlation_id: string): void {
  tx.run("delete from held_asks where correlation_id = :correlation_id", { correlation_id });
}

export function waitingIds(db: Reader): string[] {
  return db.values(z.string(), "select correlation_id from held_asks order by correlation_id");
}

const WaitingQuestion = z.object({
  from_peer_id: z.string(),
  scope: z.string().nullable(),
  created_at: z.number(),
});

/** A cross join begins with the few held asks, where a join would scan all open asks. */
export const WAITING_QUESTIONS = `select from_peer_id, question ->> 'scope' as scope, created_at
  from held_asks as held cross join messages on seq = coalesce(
    (select chosen_ids.seq from chosen_ids
     where chosen_ids.correlation_id = held.correlation_id),
    seq_of(substr(held.correlation_id, instr(held.correlation_id, '-') + 1)))
  where messages.correlation_id = held.correlation_id and ask_state = 'open'
    and question ->> 'blocking' and from_peer_id is not null
  order by created_at desc`;

/** The open questions whose asking peers wait for a person, newest first. */
export function waitingQuestions(db: Reader) {
  return db.all(WaitingQuestion, WAITING_QUESTIONS);
}

// The parents of asks to many.

const ParentAsk = z.object({
  parent_id: z.string(),
  children: z.array(ChildAsk),
  created_at: Instant,
  /** The time at which open children are closed; null without a timeout, or after it. */
  due_at: Instant.nullable(),
});
type ParentAsk = z.output<typeof ParentAsk>;

const parents = tableOf("ask_parents", ParentAsk, "parent_id");
export const { insert: insertParent, get: getParent, remove: removeParent } = parents;

/** The first ids of parents that begin with `short`. */
export const parentIdsFrom = idsOf("ask_parents", "parent_id");

const Timeout = z.object({ parent_id: z.string(), created_at: z.number(), due_at: z.number() });

/** Timeouts that are not handled yet. */
export function timeouts(db: Reader): z.output<typeof Timeout>[] {
  const columns = "parent_id, created_at, due_at";
  return db.all(Timeout, `select ${columns} from ask_parents where due_at is not null`);
}

/** Of the `limit` oldest parents, those created before `before` that have no open ask. */
export function finishedBefore(db: Reader, before: number, limit: number): ParentAsk[] {
  return parents.all(
    db,
    `where seq in (select seq from ask_parents order by seq limit :limit)
       and created_at < :before and not exists (
         select 1 from messages
         where ask_state = 'open' and messages.parent_id = ask_parents.parent_id)`,
    { before, limit },
  );
}

/** Clears the timeout once the open children are closed. */
export function clearDue(tx: Tx, parent_id: string): void {
  tx.run("update ask_parents set due_at = null where parent_id = :parent_id", { parent_id });
}
