/** Limits against floods and loops, checked last: queue size, rate per pair, hops. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Context } from "../../data/context.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import type { OriginProofs } from "../origins/origins.ts";
import type { Directory } from "../peers/directory.ts";
import type { Kind } from "protocol/messages/contract.ts";
import * as ledger from "./ledger/ledger.ts";
import type { RemoteOrigin } from "./remote_delivery.ts";

interface LimitsDeps {
  readonly directory: Directory;
  /** Maximum asks and notifications that wait for one peer, including those being sent. */
  readonly max_per_peer: number;
  /** Maximum follow-ups in a row without the human; 0 turns the limit off. */
  readonly hops: number;
  /** Maximum messages per minute from one sender to one recipient; 0 turns the limit off. */
  readonly pair_per_minute: number;
  /** Number of follow-ups before an ask of another machine; undefined for any other ask. */
  hopsBefore(correlation_id: string): number | undefined;
  /** Called for each message that a limit refuses, with the code of the refusal. */
  reached(limit: (typeof LIMIT_CODES)[number]): void;
}

/** The limits that a person set for one peer; null follows the daemon's. */
interface OwnLimits {
  readonly queue_max: number | null;
  readonly pair_per_minute: number | null;
}

/** The fields of a message that the limits depend on. */
export interface LimitedMessage {
  readonly kind: Kind;
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to: { readonly peer_id: string; readonly role: string } & OwnLimits;
  readonly voice: string;
  readonly reply_to?: string | null;
  /** True for a message that no limit refuses, such as a notice of the daemon (contract 2). */
  readonly notice?: boolean;
  /** The limit of the message and of the work that it causes, such as `50k-tokens`. */
  readonly budget?: string | undefined;
  /** The job, schedule or other work on whose behalf it is sent. */
  readonly caused_by?: string | undefined;
  /** The proofs of a request's origin; the daemon itself sends a message without them. */
  readonly proofs?: OriginProofs | undefined;
  readonly remote_origin?: RemoteOrigin;
}

/** The kinds of limited messages. Replies, inbox items and the daemon's notices are not limited. */
const LIMITED_KINDS: ReadonlySet<Kind> = new Set(["ask", "notify", "broadcast"]);

const LIMIT_CODES = ["queue_full", "hop_limit", "rate_limited"] as const;

/**
 * Factor on the limit of a pair for messages from another machine. Messages that waited on the way
 * arrive together, and their machine reports when they were sent.
 */
const ARRIVALS_FACTOR = 10;

/** Unregistered senders choose their names freely, so all of them share one count. */
const UNREGISTERED = "";

export class Limits {
  readonly #ctx: Context;
  readonly #deps: LimitsDeps;
  readonly #pairCounters = new PairCounters();
  /** Number of messages that each peer's queue can take before it must be counted again. */
  readonly #freeSlots = new Map<string, number>();

  constructor(ctx: Context, deps: LimitsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Counts a message, or refuses it with `queue_full`, `hop_limit` or `rate_limited`. A rollback
   * undoes the count. `willQueue` is true if the message goes to the recipient's queue. Returns the
   * number of follow-ups before the message without the human.
   */
  checkAndCount(message: LimitedMessage, willQueue: boolean): number {
    if (!LIMITED_KINDS.has(message.kind) || message.notice) return 0;
    let hops = 0;
    try {
      if (willQueue) this.#refuseWhenFull(message);
      hops = this.#refuseLongChain(message);
      this.#countPair(message);
    } catch (error) {
      const limit = LIMIT_CODES.find((code) => isProblem(error, code));
      if (limit) this.#deps.reached(limit);
      throw error;
    }
    const { peer_id } = message.to;
    this.#freeSlots.set(peer_id, Math.max(0, (this.#freeSlots.get(peer_id) ?? 0) - 1));
    return hops;
  }

  tick(): void {
    this.#pairCounters.expire(this.#ctx.clock.monotonic());
    this.#freeSlots.clear();
  }

  /** Refuses a message to a full queue. Free places are in memory: every message is checked. */
  #refuseWhenFull({ to: { peer_id, queue_max } }: LimitedMessage): void {
    const max_per_peer = queue_max ?? this.#deps.max_per_peer;
    // The places in memory are those of the limit for all peers.
    if (queue_max === null && this.#freeSlots.get(peer_id)) return;
    const waiting = ledger.waitingCount(this.#ctx.db, peer_id, max_per_peer);
    if (waiting >= max_per_peer) throw new Problem("queue_full", { peer_id, waiting });
    if (queue_max === null) this.#freeSlots.set(peer_id, max_per_peer - waiting);
  }

  /**
   * Refuses a follow-up in a chain that is too long. Each follow-up is a hop, and an ask from or to
   * the human, proved or not, restarts the count. A sender that omits `reply_to` starts a new
   * chain, so the rate limit bounds such loops.
   */
  #refuseLongChain({ to, voice, reply_to, remote_origin }: LimitedMessage): number {
    const { hops: limit } = this.#deps;
    const before = remote_origin?.hops ?? 0;
    if (!reply_to && before === 0) return 0;
    if (limit === 0 || to.role === "human" || voice !== "peer") return 0;
    // An ask from another machine carries its number of earlier follow-ups on all machines.
    const hops = remote_origin ? before : this.#hopsTo(reply_to ?? null, limit);
    if (hops > limit) throw new Problem("hop_limit", { reply_to: reply_to ?? "", limit });
    return hops;
  }

  /** The length of the chain that ends with this ask, up to one more than the limit. */
  #hopsTo(reply_to: string | null, limit: number): number {
    const { directory, hopsBefore } = this.#deps;
    const humans = [directory.human(), directory.homeHuman()];
    let hops = 0;
    for (let current_id = reply_to; current_id !== null && hops <= limit;) {
      const link = ledger.findLink(this.#ctx.db, current_id);
      if (!link || link.voice !== "peer") break;
      if (humans.some((human) => human?.peer_id === link.to_peer_id)) break;
      hops++;
      const elsewhere = hopsBefore(current_id);
      if (elsewhere !== undefined) return hops + elsewhere;
      current_id = link.before;
    }
    return hops;
  }

  #countPair({ from, to, remote_origin }: LimitedMessage): void {
    const { clock } = this.#ctx;
    const now = clock.monotonic();
    const { peer_id } = to;
    const limit = to.pair_per_minute ?? this.#deps.pair_per_minute;
    if (limit === 0) return;
    const pair = `${remote_origin?.counted_as ?? from.peer_id ?? UNREGISTERED}\n${peer_id}`;
    if (remote_origin) {
      this.#count({ pair: `arrived ${pair}`, limit: limit * ARRIVALS_FACTOR, at: now, peer_id });
    }
    // Messages that waited on the bus together were not sent together.
    const waited_ms = remote_origin ? Math.max(0, clock.now() - remote_origin.at) : 0;
    const at = now - waited_ms;
    this.#count({ pair, limit, at, peer_id });
  }

  /** Counts a message of a pair in the minute before `at`, or refuses it. */
  #count(
    { pair, limit, at, peer_id }: {
      readonly pair: string;
      readonly limit: number;
      readonly at: number;
      readonly peer_id: string;
    },
  ): void {
    const retry_after_seconds = this.#pairCounters.secondsUntilAllowed(pair, limit, at);
    if (retry_after_seconds > 0) {
      throw new Problem("rate_limited", { peer_id, limit, retry_after_seconds });
    }
    this.#ctx.db.afterRollback(this.#pairCounters.record(pair, at));
  }
}

const WINDOW_SECONDS = 60;
/** Maximum pairs in memory. Beyond it, the pair that was silent for longest is forgotten. */
export const PAIRS_MAX = 10_000;

interface Slot {
  readonly second: number;
  count: number;
}

export class PairCounters {
  /** The slots of each pair, oldest first. The pairs are in the order of their latest slots. */
  readonly #slots = new Map<string, Slot[]>();

  get size(): number {
    return this.#slots.size;
  }

  /** Seconds until this pair may send one more message; 0 if it may do so now. */
  secondsUntilAllowed(pair: string, limit: number, now: number): number {
    const slots = this.#recentSlots(pair, now);
    const sent = slots.reduce((sum, { count }) => sum + count, 0);
    if (sent < limit) return 0;
    const oldest = slots.find(({ count }) => count > 0)?.second ?? secondOf(now);
    return oldest + WINDOW_SECONDS - secondOf(now);
  }

  /** Counts one message. The returned function undoes the count. */
  record(pair: string, now: number): () => void {
    const slots = this.#recentSlots(pair, now);
    const last = slots.at(-1);
    const slot = last?.second === secondOf(now) ? last : { second: secondOf(now), count: 0 };
    slot.count++;
    if (slot !== last) setLatest(this.#slots, pair, [...slots, slot], PAIRS_MAX);
    return () => void slot.count--;
  }

  /** Forgets the pairs that were silent for the whole window. */
  expire(now: number): void {
    for (const [pair, slots] of this.#slots) {
      if (slots.some((slot) => isRecent(slot, now))) return;
      this.#slots.delete(pair);
    }
  }

  /** A pair's slots within the window. Drops older ones, and future ones after a clock change. */
  #recentSlots(pair: string, now: number): Slot[] {
    const slots = this.#slots.get(pair) ?? [];
    while (slots[0] && !isRecent(slots[0], now)) slots.shift();
    return slots;
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function isRecent({ second }: Slot, now: number): boolean {
  const age = secondOf(now) - second;
  return age >= 0 && age < WINDOW_SECONDS;
}
