/**
 * Hands queued messages to the readers that fetch them: clients that drain a queue, and agents'
 * hooks.
 */

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

  /** Leases a peer's queued messages to a reader, which must settle them within 60 s. */
  drain(peer_id: string, limit: number): StoredMessage[] {
    const { db } = this.#ctx;
    return db.transact(() =>
      this.#deliverable(peer_id, limit).map((message) => this.#lease(message))
    );
  }

  /**
   * Gives a peer's queued messages to a hook, which adds them to its agent's next prompt. They are
   * not sent again by themselves.
   */
  handToHook(peer_id: string, limits: { messages: number; bytes: number }): StoredMessage[] {
    const { db } = this.#ctx;
    return db.transact(() => {
      let bytes = 0;
      const waiting = this.#deliverable(peer_id, limits.messages);
      // The first message always goes. If it is too long it is cut, and says where to get the whole
      // text.
      const fittingBatch = waiting.filter((message, at) =>
        (bytes += framedLength(message)) <= limits.bytes || at === 0
      );
      return fittingBatch.map((message) =>
        this.#steps.written(this.#steps.attempted(message, "hook", false))
      );
    });
  }

  /**
   * Returns the messages that were sent to a peer and never proved, so that the agent is told their
   * ids. Each message is returned only once (architecture 3).
   */
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

  /**
   * A peer's queued messages. If a transport is attempting a message now, later messages of the
   * same sender are left out, so that they do not overtake it.
   */
  #deliverable(peer_id: string, limit: number): StoredMessage[] {
    const { db } = this.#ctx;
    const inFlight = ledger.unfinishedOf(db, peer_id).filter(({ state }) => state === "attempting");
    const senders = new Set(inFlight.map(({ from_peer_name }) => from_peer_name));
    return ledger.queue(db, peer_id, limit)
      .filter(({ from_peer_name }) => !senders.has(from_peer_name));
  }

  /**
   * Records that a reader took a message. If the reader does not settle it, the message is handed
   * over again.
   */
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
