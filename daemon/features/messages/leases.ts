/** Draining a queue in two phases: taken, then settled by a receipt within 60 s (contract 3). */

import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Delivery } from "./delivery.ts";

/** Drains that may be open at once; the oldest are forgotten first, and their rows wait again. */
const DRAINS_MAX = 10_000;

export interface DrainNeeds {
  addressable(peer_id: string): boolean;
  touch(peer_id: string): void;
}

export class Drains {
  readonly #ground: Ground;
  readonly #delivery: Delivery;
  readonly #needs: DrainNeeds;
  /** What each drain took. Lost with the process, as then its rows wait again. */
  readonly #taken = new Map<string, readonly string[]>();

  constructor(ground: Ground, delivery: Delivery, needs: DrainNeeds) {
    this.#ground = ground;
    this.#delivery = delivery;
    this.#needs = needs;
  }

  /** What waits for a peer. One that takes no messages gets none: they are dropped (spec 3). */
  take(peer_id: string, max_results: number) {
    const { db, ids } = this.#ground;
    return db.transact(() => {
      this.#needs.touch(peer_id);
      if (!this.#needs.addressable(peer_id)) {
        const dropped = this.#delivery.dropQueue(peer_id, "peer_not_addressable");
        return { deliveries: [], drain_id: null, dropped_not_addressable: dropped };
      }
      const taken = this.#delivery.drain(peer_id, max_results);
      if (taken.length === 0) return { deliveries: [], drain_id: null };
      const drain_id = ids.next("drain");
      const delivery_ids = taken.map(({ delivery_id }) => delivery_id);
      db.afterCommit(() => this.#remember(drain_id, delivery_ids));
      const deliveries = taken.map((message) => ({
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
    const taken = drain_id === undefined ? [] : this.#taken.get(drain_id);
    if (!taken) throw new Problem("unknown_drain", { drain_id: drain_id ?? "" });
    this.#delivery.settle([...taken, ...delivery_ids], status);
    if (drain_id !== undefined) this.#taken.delete(drain_id);
  }

  #remember(drain_id: string, delivery_ids: readonly string[]): void {
    this.#taken.set(drain_id, delivery_ids);
    const [oldest] = this.#taken.keys();
    if (this.#taken.size > DRAINS_MAX && oldest) this.#taken.delete(oldest);
  }
}
