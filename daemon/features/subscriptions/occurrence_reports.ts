/** Reports occurrences: sends the message of a subscription, and records the outcome. */

import type { Context } from "../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, Problem, toPublicCode } from "protocol/problems.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import { partiesOf } from "../schedules/fires.ts";
import { REPEAT_MS_MIN, stepSubscription } from "./changes.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/** Maximum messages sent per tick, so that a tick stays short. */
const MESSAGES_MAX = 100;
/** Maximum messages of one subscription before it ends. */
export const FIRES_MAX = 100;

interface OccurrenceReportsDeps {
  readonly directory: Directory;
  readonly notifications: Notifications;
}

export class OccurrenceReports {
  readonly #ctx: Context;
  readonly #deps: OccurrenceReportsDeps;

  constructor(ctx: Context, deps: OccurrenceReportsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: number): void {
    for (const subscription of rows.due(this.#ctx.db, now, MESSAGES_MAX)) {
      this.#report(subscription, now);
    }
  }

  /** Ends a subscription that can never send a message again, and notifies the subscriber. */
  fail(subscription: StoredSubscription, problem: string): void {
    this.#ctx.db.transact(() => {
      const failed = { last_outcome: "failed", last_error: problem } as const;
      stepSubscription(this.#ctx, subscription, "failed", failed);
      this.#notifySubscriber(subscription, problem);
    });
  }

  /** Sends the message and records it in one transaction. */
  #report(subscription: StoredSubscription, now: number): void {
    const { db, log } = this.#ctx;
    try {
      db.transact(() => this.#recordSent(subscription, now, this.#send(subscription)));
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      if (error instanceof Refusal) return this.#recordRefusal(subscription, now, error);
      const { subscription_id } = subscription;
      log.error("The message of a subscription failed", { error, subscription_id });
      this.#recordRefusal(subscription, now, new Problem("internal", {}));
    }
  }

  #recordSent(subscription: StoredSubscription, now: number, last_message_id: string): void {
    const fires = subscription.fires + 1;
    const repeats = subscription.until !== null && fires < FIRES_MAX;
    const event = subscription.until === null ? "fired" : repeats ? "told" : "expired";
    const next = stepSubscription(this.#ctx, subscription, event, {
      fires,
      last_message_id,
      last_fired_at: now,
      last_outcome: "fired",
      last_error: null,
      last_proof: proofOf(subscription),
    });
    this.#publish(next);
  }

  /** Retries after a refusal by a limit, as limits pass. Any other ends the subscription. */
  #recordRefusal(subscription: StoredSubscription, now: number, problem: Problem): void {
    const { db } = this.#ctx;
    const failed = { last_outcome: "failed" as const, last_error: toPublicCode(problem.code) };
    const passes = ["queue_full", "rate_limited", "internal"].some((code) => problem.code === code);
    db.transact((tx) => {
      if (passes) {
        return rows.update(tx, { ...subscription, ...failed, due_at: now + REPEAT_MS_MIN });
      }
      this.#publish(stepSubscription(this.#ctx, subscription, "failed", failed));
      this.#notifySubscriber(subscription, problem.toBody().detail);
    });
  }

  #send(subscription: StoredSubscription): string {
    const { directory, notifications } = this.#deps;
    const { proven_human, subscription_id, text, to_peer, unverified } = subscription;
    const proof = proofOf(subscription);
    if (to_peer === null && text === null && subscription.from_peer_id !== null) {
      const notice = `Subscription ${subscription_id}: ${proof}`;
      const { from_peer_id, subscription_id: caused_by } = subscription;
      return notifications.notifyFromDaemon(from_peer_id, notice, { caused_by })
        .ticket.message.delivery_id;
    }
    const parties = partiesOf(directory, subscription, to_peer);
    // A peer may have written the proof, such as a file's name. It must not appear as the human's
    // text.
    const reason = proven_human ? subscription.condition : proof;
    const message = text === null ? reason : `${text}\n\n(${subscription_id}: ${reason})`;
    const caused_by = subscription_id;
    const by = { proven_human, unverified, may_be_caller: true, caused_by };
    return notifications.notify({ ...parties, text: message }, by).ticket.message.delivery_id;
  }

  #notifySubscriber(
    { from_peer_id, subscription_id, condition }: StoredSubscription,
    problem: string,
  ): void {
    if (from_peer_id === null) return;
    const text = `Your subscription ${subscription_id} (${condition}) has ended without ` +
      `a message: ${problem}`;
    this.#deps.notifications.tryNotifyFromDaemon(from_peer_id, text);
  }

  #publish({ subscription_id, state, last_outcome, ...subscription }: StoredSubscription): void {
    this.#ctx.events.append("subscription_fired", {
      subscription_id,
      state,
      outcome: last_outcome ?? "failed",
      error: subscription.last_error,
      message_id: last_outcome === "fired" ? subscription.last_message_id : null,
      from_peer_id: subscription.from_peer_id,
      from: subscription.from_peer_name,
      to: subscription.to_peer ?? subscription.from_peer_name,
    });
  }
}

/** The last observation, and the number of observations since the last message. */
function proofOf({ pending, pending_proof }: StoredSubscription): string {
  const proof = pending_proof ?? "";
  return pending > 1 ? `${pending} times; last: ${proof}` : proof;
}
