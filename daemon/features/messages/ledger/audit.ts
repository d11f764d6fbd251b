/** The operator's view: deliveries by peer and state, and messages in a contradictory state. */

import * as z from "zod";
import type { Context } from "kit/data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { Directory } from "../../peers/directory.ts";
import { type Delivery, PROOF_MS_MAX, type UnaccountedDelivery } from "../contract.ts";
import * as ledger from "./ledger.ts";
import { DELIVERY_ID, selectMessages } from "./rows.ts";

/** The maximum number of contradictory messages that are listed. */
const REPORTED_MAX = 100;
/**
 * How long a message may be `attempting`. Every transport finishes an attempt well within this
 * time.
 */
const STUCK_MS = 120_000;

const StateCount = z.object({ state: z.string(), count: z.number() });

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

export interface DeliveryAuditDeps {
  readonly directory: Directory;
  /** Whether the human's inbox has an item for the ask. */
  isInInbox(correlation_id: string): boolean;
}

export class DeliveryAudit {
  readonly #ctx: Context;
  readonly #deps: DeliveryAuditDeps;

  constructor(ctx: Context, deps: DeliveryAuditDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * The deliveries that match the filter, newest first. `+seq` makes SQLite use the index of queued
   * messages, because these are few.
   */
  list(filter: { peer_id: string | null; state: string | null; limit: number }): Delivery[] {
    const [state, order] = filter.state === "queued"
      ? ["state = 'queued'", "+seq"]
      : ["(:state is null or state = :state)", "seq"];
    return selectMessages(
      this.#ctx.db,
      `where (:peer_id is null or to_peer_id = :peer_id) and ${state}
       order by ${order} desc limit :limit`,
      filter,
    );
  }

  /** Counts the messages in each state. Together they are all stored messages. */
  counts(): { [state: string]: number } {
    return toCounts(
      this.#ctx.db.all(
        StateCount,
        "select state, count(*) as count from messages group by state",
      ),
    );
  }

  /** How many messages wait for a transport. */
  queued(): number {
    return this.#ctx.db.value(
      z.number(),
      "select count(*) from messages where state = 'queued'",
    ) ?? 0;
  }

  /**
   * Counts messages by state, and lists the messages whose state contradicts their row, their
   * recipient or the inbox.
   */
  audit() {
    const { db, clock } = this.#ctx;
    const stuck_before = clock.now() - STUCK_MS;
    const states = db.all(
      StateAudit,
      `select state, count(*) as count, count(${PROBLEM}) as contradictory
       from messages group by state`,
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
    const unaccounted = [...inconsistent, ...this.#queuedForGone(), ...this.#missingFromInbox()];
    return {
      counts: toCounts(states),
      total: states.reduce((sum, { count }) => sum + count, 0),
      unaccounted: unaccounted.slice(0, REPORTED_MAX),
      unproved: unprovedCount(db, clock.now() - PROOF_MS_MAX),
    };
  }

  /** Messages that are queued for a peer that no longer takes messages. */
  #queuedForGone(): UnaccountedDelivery[] {
    const { db } = this.#ctx;
    const { directory } = this.#deps;
    const gone = ledger.peersWaiting(db).filter((peer_id) => !directory.canQueueFor(peer_id));
    return gone.flatMap((peer_id) => ledger.queue(db, peer_id, REPORTED_MAX))
      .map(({ delivery_id, state }) => ({ delivery_id, state, problem: "waits_for_nobody" }));
  }

  /** Open asks to the human without an inbox item. */
  #missingFromInbox(): UnaccountedDelivery[] {
    const { db } = this.#ctx;
    const human = this.#deps.directory.human();
    return (human ? ledger.openAskIds(db, human.peer_id) : [])
      .filter((correlation_id) => !this.#deps.isInInbox(correlation_id))
      .flatMap((correlation_id) => ledger.findMessage(db, correlation_id) ?? [])
      .map(({ delivery_id, state }) => ({ delivery_id, state, problem: "not_in_the_inbox" }));
  }
}

/** How many messages were sent before `before`, will not be sent again, and were never proved. */
function unprovedCount(db: Reader, before: number): number {
  return db.value(
    z.number(),
    `select count(*) from messages
     where state = 'sent' and repeatable = 0 and sent_at < :before`,
    { before },
  ) ?? 0;
}

function toCounts(
  states: readonly { state: string; count: number }[],
): { [state: string]: number } {
  return Object.fromEntries(states.map(({ state, count }) => [state, count]));
}
