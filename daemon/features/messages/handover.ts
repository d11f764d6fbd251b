/** Hands queued messages to readers that fetch them: leases, and the hooks of agents. */

import type { Context } from "kit/data/context.ts";
import { PROOF_MS_MAX, type StoredMessage } from "./contract.ts";
import { framedLength } from "./dispatch/framing.ts";
import * as ledger from "./ledger/ledger.ts";
import type { Steps } from "./ledger/steps.ts";

export class Handover {
  readonly #ctx: Context;
  readonly #steps: Steps;

  constructor(ctx: Context, steps: Steps) {
    this.#ctx = ctx;
    this.#steps = steps;
  }

  /** Takes what waits for a peer into a reader's hands; it must be settled within 60 s. */
  drain(peer_id: string, limit: number): StoredMessage[] {
    const { db } = this.#ctx;
    return db.transact(() =>
      this.#deliverable(peer_id, limit).map((message) => this.#lease(message))
    );
  }

  /** Gives a hook what waits, for its agent's next prompt; not to be sent again by itself. */
  handToHook(peer_id: string, limits: { messages: number; bytes: number }): StoredMessage[] {
    const { db } = this.#ctx;
    return db.transact(() => {
      let bytes = 0;
      const waiting = this.#deliverable(peer_id, limits.messages);
      // The first goes in any case: cut, it says where the whole is to be had.
      const fittingBatch = waiting.filter((message, at) =>
        (bytes += framedLength(message)) <= limits.bytes || at === 0
      );
      return fittingBatch.map((message) =>
        this.#steps.written(this.#steps.attempted(message, "hook", false))
      );
    });
  }

  /** What went out to a peer and was never proved; each is named once, by id (architecture 3). */
  nameUnproved(peer_id: string, limit: number): StoredMessage[] {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const now = clock.now();
      const before = now - PROOF_MS_MAX;
      const messages = ledger.unproved(db, { to_peer_id: peer_id, before, limit });
      for (const { seq } of messages) ledger.markNamed(tx, seq, now);
      return messages;
    });
  }

  /** What waits for a peer, save what a sender said after a message that a transport tries now. */
  #deliverable(peer_id: string, limit: number): StoredMessage[] {
    const { db } = this.#ctx;
    const inFlight = ledger.unfinishedOf(db, peer_id).filter(({ state }) => state === "attempting");
    const senders = new Set(inFlight.map(({ from_peer_name }) => from_peer_name));
    return ledger.queue(db, peer_id, limit)
      .filter(({ from_peer_name }) => !senders.has(from_peer_name));
  }

  /** Into a reader's hands: attempted and written at once, and safe to be handed over again. */
  #lease(message: StoredMessage): StoredMessage {
    const now = this.#ctx.clock.now();
    const sent = this.#steps.written(this.#steps.attempted(message, "hook", true));
    return {
      ...sent,
      attempts: message.attempts + 1,
      attempted_at: now,
      sent_at: now,
      reason: null,
    };
  }
}
