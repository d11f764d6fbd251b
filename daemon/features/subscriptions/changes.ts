/** Changes of subscriptions: notes an occurrence, and ends a subscription. Each is one write. */

import type { Context } from "../../data/context.ts";
import { type SubscriptionEvent, subscriptionMachine } from "protocol/subscriptions/states.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/**
 * Minimum time between two messages of a subscription. It slows down a loop in which the message
 * causes the next occurrence. One message reports all occurrences in between.
 */
export const REPEAT_MS_MIN = 60_000;

/** Records that the condition came true. The next tick that may send a message reports it. */
export function noteOccurrence(
  { db, clock }: Context,
  subscription: StoredSubscription,
  pending_proof: string,
): void {
  const { last_fired_at, pending } = subscription;
  const earliest = last_fired_at === null ? 0 : last_fired_at + REPEAT_MS_MIN;
  const now = clock.now();
  // The upper limit matters after the clock was set back.
  const due_at = subscription.due_at ?? Math.min(Math.max(now, earliest), now + REPEAT_MS_MIN);
  const noted = { ...subscription, pending: pending + 1, pending_proof, due_at };
  db.transact((tx) => rows.update(tx, noted));
}

/** Takes the step, and publishes it unless the subscription stays active. */
export function stepSubscription(
  { db, clock, events }: Context,
  subscription: StoredSubscription,
  event: SubscriptionEvent,
  change: Partial<StoredSubscription> = {},
): StoredSubscription {
  const state = subscriptionMachine.step(subscription.state, event);
  const isFinal = subscriptionMachine.isFinal(state);
  const cleared = { pending: 0, pending_proof: null, due_at: null };
  const end = isFinal ? { settled_at: clock.now(), scan_at: null } : {};
  const next: StoredSubscription = { ...subscription, ...cleared, ...change, ...end, state };
  db.transact((tx) => {
    rows.update(tx, next);
    const { subscription_id } = subscription;
    if (isFinal) events.append("subscription_changed", { subscription_id, state });
  });
  return next;
}
