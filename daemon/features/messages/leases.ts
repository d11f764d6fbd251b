/** Draining a queue in two phases: taken, then settled by a receipt within 60 s (contract 3). */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Delivery } from "./delivery.ts";

/** Drains that may be open at once; the oldest are forgotten first, and their rows wait again. */
const LEASES_MAX = 10_000;

export interface DrainDeps {
  isAddressable(peer_id: string): boolean;
  touch(peer_id: string): void;
}

export class Leases {
  readonly #ctx: Context;
  readonly #delivery: Delivery;
  readonly #deps: DrainDeps;
  /** What each drain took. Lost with the process, as then its rows wait again. */
  readonly #leased = new Map<string, readonly string[]>();

  constructor(ctx: Context, delivery: Delivery, deps: DrainDeps) {
    this.#ctx = ctx;
    this.#delivery = delivery;
    this.#deps = deps;
  }

  /** What waits for a peer. One that takes no messages gets none: they are dropped (spec 3). */
  lease(peer_id: string, max_results: number) {
    const { db, ids } = this.#ctx;
    return db.transact(() => {
      this.#deps.touch(peer_id);
      if (!this.#deps.isAddressable(peer_id)) {
        const dropped = this.#delivery.dropQueue(peer_id, "peer_not_addressable");
        return { deliveries: [], drain_id: null, dropped_not_addressable: dropped };
      }
      const leased = this.#delivery.drain(peer_id, max_results);
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
    this.#delivery.settle([...leased, ...delivery_ids], status);
    if (drain_id !== undefined) this.#leased.delete(drain_id);
  }

  #record(drain_id: string, delivery_ids: readonly string[]): void {
    this.#leased.set(drain_id, delivery_ids);
    const [oldest] = this.#leased.keys();
    if (this.#leased.size > LEASES_MAX && oldest) this.#leased.delete(oldest);
  }
}
