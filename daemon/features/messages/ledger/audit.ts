/** The operator's view: deliveries by peer and state, and messages in a contradictory state. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import type { StoredMessage, UnaccountedDelivery } from "../contract.ts";
import * as ledger from "./ledger.ts";
import { DELIVERY_ID, SELECT_MESSAGE, StoredMessageRow } from "./rows.ts";

/** The maximum number of contradictory messages that are listed. */
const REPORTED_MAX = 100;
/**
 * How long a message may be `attempting`. Every transport finishes an attempt well within this
 * time.
 */
const STUCK_MS = 120_000;

/**
 * The deliveries that match the filter, newest first. `+seq` makes SQLite use the index of queued
 * messages, because these are few.
 */
export function deliveries(
  db: Reader,
  filter: { peer_id: string | null; state: string | null; limit: number },
): StoredMessage[] {
  const [state, order] = filter.state === "queued"
    ? ["state = 'queued'", "+seq"]
    : ["(:state is null or state = :state)", "seq"];
  return db.all(
    StoredMessageRow,
    `${SELECT_MESSAGE} where (:peer_id is null or to_peer_id = :peer_id) and ${state}
     order by ${order} desc limit :limit`,
    filter,
  );
}

const StateCount = z.object({ state: z.string(), count: z.number() });

/** Counts the messages in each state. Together they are all stored messages. */
export function counts(db: Reader): { state: string; count: number }[] {
  return db.all(StateCount, "select state, count(*) as count from messages group by state");
}

const Count = z.object({ count: z.number() });

/** How many messages were sent before `before`, will not be sent again, and were never proved. */
export function unprovedCount(db: Reader, before: number): number {
  const found = db.get(
    Count,
    `select count(*) as count from messages
     where state = 'sent' and repeatable = 0 and sent_at < :before`,
    { before },
  );
  return found?.count ?? 0;
}

/** What the audit asks other features about a message's recipient. */
export interface AuditLookups {
  /** Whether messages may wait for a peer. */
  canQueueFor(peer_id: string): boolean;
  human_id(): string | undefined;
  /** Whether the human's inbox has an item for the ask. */
  isInInbox(correlation_id: string): boolean;
}

/**
 * Names the contradiction between a message's state and the rest of its row; null if there is none.
 */
const PROBLEM = `case
  when (kind = 'ask') <> (ask_state is not null) then 'ask_without_state'
  when (ask_state = 'closed') <> (closed_at is not null) then 'closed_without_instant'
  when ask_state = 'closed' and state = 'queued' then 'closed_but_queued'
  when ask_state = 'open' and state in ('failed', 'expired', 'dropped') then 'open_but_ended'
  when state = 'attempting' and attempted_at < :stuck_before then 'attempting_too_long'
  when state in ('failed', 'expired', 'dropped') and (reason is null or settled_at is null)
    then 'ended_without_reason'
  when state = 'sent' and sent_at is null or state = 'accepted' and accepted_at is null
    or state = 'seen' and seen_at is null then 'step_without_instant'
  end`;

const StateAudit = StateCount.extend({ contradictory: z.number() });
const Inconsistency = z.object({ delivery_id: z.string(), state: z.string(), problem: z.string() });

/**
 * Counts messages by state, and lists the messages whose state contradicts their row, their
 * recipient or the inbox.
 */
export function audit(db: Reader, now: number, lookups: AuditLookups) {
  const stuck_before = now - STUCK_MS;
  const states = db.all(
    StateAudit,
    `select state, count(*) as count, count(${PROBLEM}) as contradictory from messages group by state`,
    { stuck_before },
  );
  const inconsistent = states.some(({ contradictory }) => contradictory > 0)
    ? db.all(
      Inconsistency,
      `select * from (select ${DELIVERY_ID}, state, ${PROBLEM} as problem from messages)
       where problem is not null limit :limit`,
      { stuck_before, limit: REPORTED_MAX },
    )
    : [];
  const unaccounted = [
    ...inconsistent,
    ...queuedForGone(db, lookups),
    ...missingFromInbox(db, lookups),
  ];
  return {
    counts: Object.fromEntries(states.map(({ state, count }) => [state, count])),
    total: states.reduce((sum, { count }) => sum + count, 0),
    unaccounted: unaccounted.slice(0, REPORTED_MAX),
  };
}

/** Messages that are queued for a peer that no longer takes messages. */
function queuedForGone(db: Reader, { canQueueFor }: AuditLookups): UnaccountedDelivery[] {
  const gone = ledger.peersWaiting(db).filter((peer_id) => !canQueueFor(peer_id));
  return gone.flatMap((peer_id) => ledger.queue(db, peer_id, REPORTED_MAX))
    .map(({ delivery_id, state }) => ({ delivery_id, state, problem: "waits_for_nobody" }));
}

/** Open asks to the human without an inbox item. */
function missingFromInbox(
  db: Reader,
  { human_id, isInInbox }: AuditLookups,
): UnaccountedDelivery[] {
  const human = human_id();
  return (human ? ledger.openAskIds(db, human) : [])
    .filter((correlation_id) => !isInInbox(correlation_id))
    .flatMap((correlation_id) => ledger.findMessage(db, correlation_id) ?? [])
    .map(({ delivery_id, state }) => ({ delivery_id, state, problem: "not_in_the_inbox" }));
}
