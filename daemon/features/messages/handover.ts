/**
 * Hands queued messages to the readers that fetch them. An agent's hook gets them for good. A
 * client that drains a queue leases them, and settles them by a receipt within 60 s (contract 3).
 */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Directory } from "../peers/directory.ts";
import {
  PROOF_MS_MAX,
  type SettleDeliveries,
  type StoredMessage,
} from "protocol/messages/contract.ts";
import type { Delivery } from "./delivery.ts";
import type { HoldPorts } from "./dispatcher.ts";
import { framedLength } from "./framing.ts";
import * as ledger from "./ledger/ledger.ts";
import { findStepped } from "./ledger/rows.ts";
import type { Steps } from "./ledger/steps.ts";
import type { Receipts } from "./receipts.ts";

/** Maximum number of drains that can be confirmed. An older one only waits for its 60 s to end. */
const LEASES_MAX = 10_000;

interface HandoverDeps {
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly ports: HoldPorts;
  readonly receipts: Receipts;
  readonly steps: Steps;
  /** The leases of this run, by row number. */
  readonly leases: Ages;
}

/** Limits of a hook's answer. */
interface HookLimits {
  readonly messages: number;
  readonly bytes: number;
  /** Leaves out messages that are not urgent, unless an urgent message of their sender follows. */
  readonly only_urgent?: boolean;
}

export class Handover {
  readonly #ctx: Context;
  readonly #deps: HandoverDeps;
  /** The delivery ids of each open drain, in memory only: a restart queues the messages again. */
  readonly #leased = new Map<string, readonly string[]>();

  constructor(ctx: Context, deps: HandoverDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Leases a peer's queued messages to a reader; drops those of an unaddressable peer (spec 3). */
  lease(peer_id: string, max_results: number) {
    const { db, ids } = this.#ctx;
    const { delivery, directory } = this.#deps;
    return db.transact(() => {
      directory.touch(peer_id);
      if (!directory.resolve(peer_id).addressable) {
        const dropped = delivery.dropQueue(peer_id, "peer_not_addressable");
        return { deliveries: [], drain_id: null, dropped_not_addressable: dropped };
      }
      const deliveries = this.#lease(this.#deliverable(peer_id, max_results));
      if (deliveries.length === 0) return { deliveries, drain_id: null };
      const drain_id = ids.next("drain");
      const delivery_ids = deliveries.map(({ delivery_id }) => delivery_id);
      db.afterCommit(() => setLatest(this.#leased, drain_id, delivery_ids, LEASES_MAX));
      return { deliveries, drain_id };
    });
  }

  /** The recipients of the messages that a receipt settles. */
  recipientsOf(
    { drain_id = "", delivery_ids = [] }: Omit<SettleDeliveries, "status">,
  ): string[] {
    const ids = [...this.#leased.get(drain_id) ?? [], ...delivery_ids];
    const found = ids.flatMap((id) => findStepped(this.#ctx.db, id)?.to_peer_id ?? []);
    return [...new Set(found)];
  }

  /** Settles messages by their ids, and all messages of a drain. */
  settle({ drain_id, delivery_ids = [], status }: SettleDeliveries): void {
    const leased = drain_id === undefined ? [] : this.#leased.get(drain_id);
    if (!leased) throw new Problem("unknown_drain", { drain_id: drain_id ?? "" });
    const { db } = this.#ctx;
    db.transact(() => {
      this.#deps.receipts.settle([...leased, ...delivery_ids], status);
      db.afterCommit(() => void this.#leased.delete(drain_id ?? ""));
    });
  }

  /** Gives a peer's queued messages, for good, to a hook that adds them to its agent's input. */
  handToHook(peer_id: string, limits: HookLimits): StoredMessage[] {
    return this.#ctx.db.transact(() => {
      if (this.#deps.ports.holdOf(peer_id)) return [];
      let bytes = 0;
      const read = limits.only_urgent ? ledger.urgentQueue : ledger.queue;
      const waiting = this.#deliverable(peer_id, limits.messages, read);
      // The first message always fits. A text that is too long is cut, with a note on how to read
      // the rest.
      const fittingBatch = waiting.filter((message, at) =>
        (bytes += framedLength(message)) <= limits.bytes || at === 0
      );
      return this.#deps.steps.handedOver(fittingBatch, "hook", false);
    });
  }

  /** The unproved messages of a peer, whose agent gets each id only once (architecture 3). */
  nameUnproved(peer_id: string, limit: number): StoredMessage[] {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const now = clock.now();
      const before = now - PROOF_MS_MAX;
      const messages = ledger.unproved(db, { to_peer_id: peer_id, before, limit });
      for (const { seq } of messages) ledger.update(tx, seq, { named_at: now });
      return messages;
    });
  }

  /** The queued messages of a peer, except from senders whose message is being attempted now. */
  #deliverable(peer_id: string, limit: number, read = ledger.queue): StoredMessage[] {
    const { db } = this.#ctx;
    const inFlight = ledger.unfinishedOf(db, peer_id).filter(({ state }) => state === "attempting");
    const senders = new Set(inFlight.map(({ from_peer_name }) => from_peer_name));
    return read(db, peer_id, limit)
      .filter(({ from_peer_name }) => !senders.has(from_peer_name));
  }

  /** Records that a reader took messages, which are handed over again unless they are settled. */
  #lease(messages: readonly StoredMessage[]) {
    const { leases, steps } = this.#deps;
    return steps.handedOver(messages, "hook", true).map((message) => {
      const { seq, attempts, sent_at } = message;
      leases.of(String(seq), sent_at);
      return {
        ...message,
        attempts: attempts + 1,
        attempted_at: sent_at,
        reason: null,
        redelivered: attempts > 0,
      };
    });
  }
}
