/** Tells occurrences: sends the message of a subscription, and records the outcome. */

import type { Context } from "../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, Problem, recoverableProblem, toPublicCode } from "protocol/problems.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import { recipientScope } from "../schedules/fires.ts";
import { REPEAT_MS_MIN, stepSubscription } from "./changes.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/** Maximum messages sent per tick, so that a tick stays short. */
const MESSAGES_MAX = 100;
/** Maximum messages of one subscription before it ends. */
export const FIRES_MAX = 100;

export interface TellingDeps {
  readonly directory: Directory;
  readonly notifications: Notifications;
}

export class Telling {
  readonly #ctx: Context;
  readonly #deps: TellingDeps;

  constructor(ctx: Context, deps: TellingDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: number): void {
    for (const one of rows.due(this.#ctx.db, now, MESSAGES_MAX)) this.#tell(one, now);
  }

  /** Ends a subscription that can never be told any more, and says so to the subscriber. */
  fail(one: StoredSubscription, problem: string): void {
    this.#ctx.db.transact(() => {
      stepSubscription(this.#ctx, one, "failed", { last_outcome: "failed", last_error: problem });
      this.#notifySubscriber(one, problem);
    });
  }

  /** Sends the message and records it in one transaction. */
  #tell(one: StoredSubscription, now: number): void {
    const { db, log } = this.#ctx;
    try {
      db.transact(() => this.#fired(one, now, this.#send(one)));
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      if (!(error instanceof Refusal)) {
        const { subscription_id } = one;
        log.error("The message of a subscription failed", { error, subscription_id });
      }
      this.#refused(one, now, error instanceof Refusal ? error : new Problem("internal", {}));
    }
  }

  #fired(one: StoredSubscription, now: number, last_message_id: string): void {
    const fires = one.fires + 1;
    const repeats = one.until !== null && fires < FIRES_MAX;
    const event = one.until === null ? "fired" : repeats ? "told" : "expired";
    const next = stepSubscription(this.#ctx, one, event, {
      fires,
      last_message_id,
      last_fired_at: now,
      last_outcome: "fired",
      last_error: null,
      last_proof: proofOf(one),
    });
    this.#publish(next);
  }

  /** A limit passes, so the message is tried again; any other refusal ends the subscription. */
  #refused(one: StoredSubscription, now: number, problem: Problem): void {
    const { db } = this.#ctx;
    const failed = { last_outcome: "failed" as const, last_error: toPublicCode(problem.code) };
    const passes = ["queue_full", "rate_limited", "internal"].some((code) => problem.code === code);
    db.transact((tx) => {
      if (passes) {
        return rows.update(tx, { ...one, ...failed, due_at: now + REPEAT_MS_MIN });
      }
      this.#publish(stepSubscription(this.#ctx, one, "failed", failed));
      this.#notifySubscriber(one, problem.toBody().detail);
    });
  }

  #send(one: StoredSubscription): string {
    const { directory, notifications } = this.#deps;
    const { circle, proven_human, subscription_id, text, to_peer, unverified } = one;
    const proof = proofOf(one);
    if (to_peer === null && text === null && one.from_peer_id !== null) {
      return this.#notice(one.from_peer_id, `Subscription ${subscription_id}: ${proof}`);
    }
    const known = one.from_peer_id && directory.address(one.from_peer_id);
    const from_peer = known && !known.closed ? known.peer_id : one.from_peer;
    const named = circle ?? undefined;
    const caller = directory.sender(from_peer, { circle: named });
    const scope = { ...recipientScope(one, caller), may_be_caller: true };
    const to = directory.target(to_peer ?? from_peer, scope);
    // A peer may have written the proof, such as a file's name. It must not appear as the human's
    // text.
    const reason = proven_human ? one.condition : proof;
    const message = text === null ? reason : `${text}\n\n(${subscription_id}: ${reason})`;
    const by = { proven_human, unverified, may_be_caller: true };
    return notifications.notify(
      { from_peer, to_peer: to.peer_id, text: message, circle: named },
      by,
    ).ticket.message.delivery_id;
  }

  #notice(to_peer: string, text: string): string {
    return this.#deps.notifications.notifyFromDaemon(to_peer, text).ticket.message.delivery_id;
  }

  #notifySubscriber({ from_peer_id, ...one }: StoredSubscription, problem: string): void {
    if (from_peer_id === null) return;
    const text = `Your subscription ${one.subscription_id} (${one.condition}) has ended without ` +
      `a message: ${problem}`;
    try {
      this.#ctx.db.transact(() => this.#notice(from_peer_id, text));
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const { code } = refusal;
      this.#ctx.log.debug("A subscriber was not notified", { peer_id: from_peer_id, code });
    }
  }

  #publish({ subscription_id, state, last_outcome, ...one }: StoredSubscription): void {
    this.#ctx.events.append("subscription_fired", {
      subscription_id,
      state,
      outcome: last_outcome ?? "failed",
      error: one.last_error,
      message_id: last_outcome === "fired" ? one.last_message_id : null,
      from_peer_id: one.from_peer_id,
      from: one.from_peer_name,
      to: one.to_peer ?? one.from_peer_name,
    });
  }
}

/** The last observation, and the number of observations since the last message. */
function proofOf({ pending, pending_proof }: StoredSubscription): string {
  const proof = pending_proof ?? "";
  return pending > 1 ? `${pending} times; last: ${proof}` : proof;
}
