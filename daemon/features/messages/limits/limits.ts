/**
 * Limits against floods and loops: queue size, rate per pair, hops. They are checked after all
 * other rules.
 */

import type { Context } from "kit/data/context.ts";
import { isProblem, Problem } from "kit/core/problem.ts";
import type { Directory } from "../../peers/directory.ts";
import type { Kind } from "../contract.ts";
import * as ledger from "../ledger/ledger.ts";
import { PairCounters } from "./pair_counters.ts";

export interface LimitsOptions {
  /** How many asks and notifications may wait for one peer, including those being sent. */
  readonly max_per_peer: number;
  /** How many follow-ups may come in a row without the human; 0 turns the limit off. */
  readonly hops: number;
  /** How many messages one sender may send to one recipient per minute; 0 turns the limit off. */
  readonly pair_per_minute: number;
  /** Called for each message that a limit refuses, with the code of the refusal. */
  reached(limit: (typeof LIMIT_CODES)[number]): void;
}

/** The fields of a message that the limits depend on. */
export interface LimitedMessage {
  readonly kind: Kind;
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to: { readonly peer_id: string; readonly role: string };
  readonly voice: string;
  readonly reply_to?: string | null;
  /** True for a notice of the daemon, which no limit refuses (contract 2). */
  readonly notice?: boolean;
}

/**
 * The kinds of messages that are limited. Replies, inbox items and notices of the daemon are not.
 */
const LIMITED_KINDS: ReadonlySet<Kind> = new Set(["ask", "notify", "broadcast"]);

const LIMIT_CODES = ["queue_full", "hop_limit", "rate_limited"] as const;

/** Unregistered senders choose their names freely, so all of them share one count. */
const UNREGISTERED = "";

export class Limits {
  readonly #ctx: Context;
  readonly #directory: Directory;
  readonly #options: LimitsOptions;
  readonly #pairCounters = new PairCounters();
  /** How many messages each peer's queue can take before it must be counted again. */
  readonly #freeSlots = new Map<string, number>();

  constructor(ctx: Context, directory: Directory, options: LimitsOptions) {
    this.#ctx = ctx;
    this.#directory = directory;
    this.#options = options;
  }

  /**
   * Counts a message, or refuses it with `queue_full`, `hop_limit` or `rate_limited`. A rollback
   * undoes the count. `willQueue` says whether the message goes to the recipient's queue.
   */
  checkAndCount(message: LimitedMessage, willQueue: boolean): void {
    if (!LIMITED_KINDS.has(message.kind) || message.notice) return;
    try {
      if (willQueue) this.#refuseWhenFull(message);
      if (message.reply_to) this.#refuseLongChain(message, message.reply_to);
      this.#countPair(message);
    } catch (error) {
      const limit = LIMIT_CODES.find((code) => isProblem(error, code));
      if (limit) this.#options.reached(limit);
      throw error;
    }
    const { peer_id } = message.to;
    this.#freeSlots.set(peer_id, Math.max(0, (this.#freeSlots.get(peer_id) ?? 0) - 1));
  }

  tick(now: number): void {
    this.#pairCounters.expire(now);
    this.#freeSlots.clear();
  }

  /**
   * Refuses a message if the queue is full. The free places are kept in memory, because every
   * queued message passes here.
   */
  #refuseWhenFull({ to: { peer_id } }: LimitedMessage): void {
    const { max_per_peer } = this.#options;
    if (this.#freeSlots.get(peer_id)) return;
    const waiting = ledger.waitingCount(this.#ctx.db, peer_id, max_per_peer);
    if (waiting >= max_per_peer) throw new Problem("queue_full", { peer_id, waiting });
    this.#freeSlots.set(peer_id, max_per_peer - waiting);
  }

  /**
   * Refuses a follow-up in a chain that is too long. Each follow-up is a hop, and an ask from or to
   * the human, proved or not, restarts the count. A sender that omits `reply_to` starts a new
   * chain, so the rate limit bounds such loops.
   */
  #refuseLongChain({ to, voice }: LimitedMessage, reply_to: string): void {
    const { hops: limit } = this.#options;
    if (limit === 0 || to.role === "human" || voice !== "peer") return;
    const humanId = this.#directory.human()?.peer_id;
    let hops = 0;
    for (let current_id: string | null = reply_to; current_id !== null && hops <= limit;) {
      const link = ledger.findLink(this.#ctx.db, current_id);
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
