/** What stops a flood and a loop: full queues, fast pairs, long chains. The last of all checks. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Kind } from "../contract.ts";
import * as chains from "../ledger/chains.ts";
import * as ledger from "../ledger/ledger.ts";
import { PairCounters } from "./pair_counters.ts";

export interface LimitsOptions {
  /** Messages that may wait for one peer. */
  readonly max_per_peer: number;
  /** Follow-ups that may come one after another without the human in it; 0 is any number. */
  readonly hops: number;
  /** Messages from one peer, or from all that are none, to one recipient in a minute; 0 is off. */
  readonly pair_per_minute: number;
}

/** What of a message the limits look at. */
export interface LimitedMessage {
  readonly kind: Kind;
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to: { readonly peer_id: string; readonly role: string };
  readonly voice: string;
  readonly reply_to?: string | null;
  /** What the daemon itself has to say (contract 2). */
  readonly notice?: boolean;
}

/** What peers start by themselves. Replies, inbox items and our notices are never refused. */
const LIMITED_KINDS: ReadonlySet<Kind> = new Set(["ask", "notify", "broadcast"]);

/** A sender that is no peer chooses its name freely, so that all of them share one count. */
const UNREGISTERED = "";

export class Limits {
  readonly #ctx: Context;
  readonly #options: LimitsOptions;
  /** The peer_id of the human, when there is one. */
  readonly #humanId: () => string | undefined;
  readonly #pairCounters = new PairCounters();
  /** How many messages a queue is sure to take before it has to be counted again. */
  readonly #freeSlots = new Map<string, number>();

  constructor(ctx: Context, options: LimitsOptions, humanId: () => string | undefined) {
    this.#ctx = ctx;
    this.#options = options;
    this.#humanId = humanId;
  }

  /**
   * Lets a message through, and counts it; a verb that rolls back does not count. Refuses with
   * `queue_full`, `hop_limit` or `rate_limited`. `waits`: it goes to the recipient's queue.
   */
  checkAndCount(message: LimitedMessage, willQueue: boolean): void {
    if (!LIMITED_KINDS.has(message.kind) || message.notice) return;
    if (willQueue) this.#refuseWhenFull(message);
    if (message.reply_to) this.#refuseLongChain(message, message.reply_to);
    this.#countPair(message);
    const { peer_id } = message.to;
    this.#freeSlots.set(peer_id, Math.max(0, (this.#freeSlots.get(peer_id) ?? 0) - 1));
  }

  tick(now: number): void {
    this.#pairCounters.expire(now);
    this.#freeSlots.clear();
  }

  /** A queue grows by what passes here alone, so that it is not counted for every message. */
  #refuseWhenFull({ to: { peer_id } }: LimitedMessage): void {
    const { max_per_peer } = this.#options;
    if (this.#freeSlots.get(peer_id)) return;
    const waiting = ledger.waitingCount(this.#ctx.db, peer_id, max_per_peer);
    if (waiting >= max_per_peer) throw new Problem("queue_full", { peer_id, waiting });
    this.#freeSlots.set(peer_id, max_per_peer - waiting);
  }

  /**
   * Each follow-up is a hop. Where the human asked or was asked, the count begins anew. A sender
   * that leaves out `reply_to` begins a new chain: this stops loops of agents that say what they
   * follow up on, and the count of each minute bounds the others.
   */
  #refuseLongChain({ to, voice }: LimitedMessage, reply_to: string): void {
    const { hops: limit } = this.#options;
    if (limit === 0 || to.role === "human" || voice !== "peer") return;
    const humanId = this.#humanId();
    let hops = 0;
    for (let current_id: string | null = reply_to; current_id !== null && hops <= limit;) {
      const link = chains.findLink(this.#ctx.db, current_id);
      if (!link || link.voice !== "peer" || link.to_peer_id === humanId) return;
      hops++;
      current_id = link.before;
    }
    if (hops > limit) throw new Problem("hop_limit", { reply_to, limit });
  }

  #countPair({ from, to: { peer_id } }: LimitedMessage): void {
    const { db, clock } = this.#ctx;
    const { pair_per_minute: limit } = this.#options;
    if (limit === 0) return;
    const pair = `${from.peer_id ?? UNREGISTERED}\n${peer_id}`;
    const retry_after_seconds = this.#pairCounters.secondsUntilAllowed(pair, limit, clock.now());
    if (retry_after_seconds > 0) {
      throw new Problem("rate_limited", { peer_id, limit, retry_after_seconds });
    }
    db.afterRollback(this.#pairCounters.record(pair, clock.now()));
  }
}
