/**
 * Drains a queue in two phases: the reader leases messages, and then settles them by a receipt
 * within 60 s (contract 3).
 */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Delivery } from "./delivery.ts";
import type { Handover } from "./handover.ts";
import type { Receipts } from "./receipts.ts";

/**
 * The maximum number of open drains. Beyond it, the oldest drain is forgotten, and its messages are
 * queued again when its 60 s have passed.
 */
const LEASES_MAX = 10_000;

export interface LeasesDeps {
  readonly delivery: Pick<Delivery, "dropQueue">;
  readonly handover: Handover;
  readonly receipts: Receipts;
  isAddressable(peer_id: string): boolean;
  touch(peer_id: string): void;
}

export class Leases {
  readonly #ctx: Context;
  readonly #deps: LeasesDeps;
  /**
   * The delivery ids of each open drain. They are only in memory, because a restart queues the
   * messages again.
   */
  readonly #leased = new Map<string, readonly string[]>();

  constructor(ctx: Context, deps: LeasesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Leases a peer's queued messages to a reader. If the peer is not addressable, drops them (spec
   * 3).
   */
  lease(peer_id: string, max_results: number) {
    const { db, ids } = this.#ctx;
    return db.transact(() => {
      this.#deps.touch(peer_id);
      if (!this.#deps.isAddressable(peer_id)) {
        const dropped = this.#deps.delivery.dropQueue(peer_id, "peer_not_addressable");
        return { deliveries: [], drain_id: null, dropped_not_addressable: dropped };
      }
      const leased = this.#deps.handover.drain(peer_id, max_results);
      if (leased.length === 0) return { deliveries: [], drain_id: null };
      const drain_id = ids.next("drain");
      const delivery_ids = leased.map(({ delivery_id }) => delivery_id);
      db.afterCommit(() => this.#record(drain_id, delivery_ids));
      const deliveries = leased.map((message) => ({
        ...message,
        redelivered: message.attempts > 1,
      }));
      return { deliveries, drain_id };
    });
  }

  settle(
    { drain_id, delivery_ids = [], status }: {
      drain_id?: string | undefined;
      delivery_ids?: string[] | undefined;
      status: "accepted" | "seen" | "failed" | "rejected";
    },
  ): void {
    const leased = drain_id === undefined ? [] : this.#leased.get(drain_id);
    if (!leased) throw new Problem("unknown_drain", { drain_id: drain_id ?? "" });
    this.#deps.receipts.settle([...leased, ...delivery_ids], status);
    if (drain_id !== undefined) this.#leased.delete(drain_id);
  }

  #record(drain_id: string, delivery_ids: readonly string[]): void {
    this.#leased.set(drain_id, delivery_ids);
    const [oldest] = this.#leased.keys();
    if (this.#leased.size > LEASES_MAX && oldest) this.#leased.delete(oldest);
  }
}
