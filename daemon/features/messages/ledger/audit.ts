/** The operator's view: deliveries by peer and state, and messages in a contradictory state. */

import * as z from "zod";
import type { Context } from "../../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { RemotePorts } from "../remote_delivery.ts";
import type { Directory } from "../../peers/directory.ts";
import {
  type Delivery,
  PROOF_MS_MAX,
  type UnaccountedDelivery,
} from "protocol/messages/contract.ts";
import * as ledger from "./ledger.ts";
import { rangesBelow, readRanges, type SeqRange } from "./ranges.ts";
import { DELIVERY_ID, selectMessages } from "./rows.ts";

/** The maximum number of contradictory messages that are listed. */
const REPORTED_MAX = 100;
/** Maximum time of a message in `attempting`. Every transport finishes well within it. */
const STUCK_MS = 120_000;

const StateCount = z.object({ state: z.string(), count: z.number() });

/** The contradiction between a message's state and the rest of its row; null if they agree. */
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

/** Condition for the messages of a range and a scope. */
const IN_SCOPE = `seq >= :floor and seq < :before
  and (:peer_id is null or to_peer_id = :peer_id) and (:state is null or state = :state)`;

const StateAudit = StateCount.extend({ contradictory: z.number(), unproved: z.number() });
type StateAudit = z.output<typeof StateAudit>;
const Inconsistency = z.object({ delivery_id: z.string(), state: z.string(), problem: z.string() });

/** The deliveries to count; null matches any. */
interface DeliveryScope {
  /** The recipient. */
  readonly peer_id: string | null;
  readonly state: string | null;
}

const ALL: DeliveryScope = { peer_id: null, state: null };

/** The deliveries to list. */
interface DeliveryFilter extends DeliveryScope {
  readonly limit: number;
}

/** Questions of the audit to higher features. */
export interface AuditPorts {
  /** True if the human's inbox has an item for the ask. */
  isInInbox(correlation_id: string): boolean;
}

interface DeliveryAuditDeps {
  readonly directory: Directory;
  readonly ports: AuditPorts & Pick<RemotePorts, "isForwarded">;
}

export class DeliveryAudit {
  readonly #ctx: Context;
  readonly #deps: DeliveryAuditDeps;

  constructor(ctx: Context, deps: DeliveryAuditDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The deliveries that match the filter, newest first. */
  async list(filter: DeliveryFilter): Promise<Delivery[]> {
    const { db } = this.#ctx;
    if (filter.state === "queued") return queuedDeliveries(db, filter);
    const rest = `where ${IN_SCOPE} order by seq desc limit :limit`;
    return await readRanges(
      this.#ctx,
      filter,
      (part) => selectMessages(db, rest, { ...filter, ...part }),
    );
  }

  /** Counts the messages in each state. Together they are all stored messages. */
  counts(): { [state: string]: number } {
    const statement = "select state, count(*) as count from messages group by state";
    const states = this.#ctx.db.all(StateCount, statement);
    return Object.fromEntries(states.map(({ state, count }) => [state, count]));
  }

  /** Number of messages that wait for a transport. */
  queued(): number {
    const statement = "select count(*) from messages where state = 'queued'";
    return this.#ctx.db.value(z.number(), statement) ?? 0;
  }

  /**
   * Counts the messages of a scope by state, and lists those whose state contradicts their row,
   * their recipient or the inbox. A message that changes during the audit is counted once, because
   * its row number stays.
   */
  async audit({ peer_id, state }: DeliveryScope = ALL) {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    const instants = { stuck_before: now - STUCK_MS, unproved_before: now - PROOF_MS_MAX };
    const counts: Record<string, number> = {};
    const inconsistent: UnaccountedDelivery[] = [];
    let total = 0, unproved = 0;
    for await (const range of rangesBelow(this.#ctx)) {
      const params = { ...instants, ...range, peer_id, state };
      const states = auditOf(db, params);
      for (const { state, count, unproved: without } of states) {
        counts[state] = (counts[state] ?? 0) + count;
        total += count;
        unproved += without;
      }
      const isClean = states.every(({ contradictory }) => contradictory === 0);
      if (!isClean && inconsistent.length < REPORTED_MAX) {
        inconsistent.push(...contradictions(db, params));
      }
    }
    const waiting = [...this.#queuedForGone(), ...this.#missingFromInbox()]
      .filter((message) => isInScope(message, { peer_id, state }));
    const unaccounted = [
      ...inconsistent,
      ...waiting.map(({ delivery_id, state, problem }) => ({ delivery_id, state, problem })),
    ];
    return { counts, total, unaccounted: unaccounted.slice(0, REPORTED_MAX), unproved };
  }

  /** Messages queued for a peer of this machine that no longer takes messages. */
  #queuedForGone(): FoundUnaccounted[] {
    const { db } = this.#ctx;
    const { directory, ports } = this.#deps;
    const gone = ledger.peersWaiting(db).filter((peer_id) => !directory.canQueueFor(peer_id));
    return gone.flatMap((peer_id) => ledger.queue(db, peer_id, REPORTED_MAX))
      .filter((message) => !ports.isForwarded(message))
      .map((message) => ({ ...message, problem: "waits_for_nobody" }));
  }

  /** Open asks to the human without an inbox item. */
  #missingFromInbox(): FoundUnaccounted[] {
    const { db } = this.#ctx;
    const human = this.#deps.directory.human();
    return (human ? ledger.openAskIds(db, human.peer_id) : [])
      .filter((correlation_id) => !this.#deps.ports.isInInbox(correlation_id))
      .flatMap((correlation_id) => ledger.findMessage(db, correlation_id) ?? [])
      .map((message) => ({ ...message, problem: "not_in_the_inbox" }));
  }
}

type FoundUnaccounted = UnaccountedDelivery & { readonly to_peer_id: string };

function isInScope(found: FoundUnaccounted, { peer_id, state }: DeliveryScope): boolean {
  return (peer_id ?? found.to_peer_id) === found.to_peer_id &&
    (state ?? found.state) === found.state;
}

/** Queued messages by their index, because these are few. */
function queuedDeliveries(db: Reader, filter: DeliveryFilter): Delivery[] {
  return selectMessages(
    db,
    `where seq in (
       select seq from messages indexed by messages_queued
       where state = 'queued' and (:peer_id is null or to_peer_id = :peer_id)
       order by seq desc limit :limit)
     order by seq desc`,
    { peer_id: filter.peer_id, limit: filter.limit },
  );
}

type AuditParams = SeqRange & DeliveryScope & {
  readonly stuck_before: number;
  readonly unproved_before: number;
};

/** The messages of a range by state: how many contradict their row, how many were never proved. */
function auditOf(db: Reader, params: AuditParams): StateAudit[] {
  return db.all(
    StateAudit,
    `select state, count(*) as count, count(${PROBLEM}) as contradictory,
       count(iif(state = 'sent' and repeatable = 0 and sent_at < :unproved_before, 1, null))
         as unproved
     from messages where ${IN_SCOPE} group by state`,
    { ...params },
  );
}

function contradictions(
  db: Reader,
  { unproved_before: _, ...params }: AuditParams,
): UnaccountedDelivery[] {
  return db.all(
    Inconsistency,
    `select * from (select ${DELIVERY_ID}, state, ${PROBLEM} as problem from messages
                    where ${IN_SCOPE})
     where problem is not null limit :limit`,
    { ...params, limit: REPORTED_MAX },
  );
}
