/** SQL of push subscriptions and pushes, one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { PushSubscriptionRecord } from "protocol/push/contract.ts";
import { pushMachine } from "protocol/push/states.ts";

const nullableString = z.string().nullable();

/** A subscription as stored: the public record, the address and the keys. */
export const StoredSubscription = PushSubscriptionRecord.omit({ service: true, last: true }).extend(
  {
    endpoint: z.string(),
    p256dh: z.string(),
    auth: z.string(),
    account: nullableString,
  },
);
export type StoredSubscription = z.output<typeof StoredSubscription>;

export const subscriptions = tableOf("push_subscriptions", StoredSubscription, "subscription_id");

/** Subscriptions that get pushes, oldest first. */
export function active(db: Reader): StoredSubscription[] {
  return subscriptions.all(db, "where ended_at is null order by created_at, subscription_id");
}

/** The subscriptions that get pushes, and then those that have ended. */
export function all(db: Reader): StoredSubscription[] {
  return subscriptions.all(db, "order by ended_at is not null, created_at, subscription_id");
}

export function byEndpoint(db: Reader, endpoint: string): StoredSubscription | undefined {
  return subscriptions.all(db, "where endpoint = :endpoint and ended_at is null", { endpoint })[0];
}

export function removeEnded(tx: Tx, before: number): void {
  tx.run("delete from push_subscriptions where ended_at < :before", { before });
}

/** A push to one device. */
const StoredPush = z.object({
  push_id: z.string(),
  subscription_id: z.string(),
  item_id: nullableString,
  /** The delivery in whose trace the push is recorded. */
  delivery_id: nullableString,
  kind: z.enum(["item", "close", "test"]),
  state: z.enum(pushMachine.states),
  reason: nullableString,
  attempts: z.int(),
  due_at: Instant,
  expires_at: Instant,
  created_at: Instant,
  changed_at: Instant,
});
export type StoredPush = z.output<typeof StoredPush>;

export const messages = tableOf("push_messages", StoredPush, "push_id");

/** Pushes that are due, in order; at most one of each device. */
export function due(db: Reader, now: number, limit: number): StoredPush[] {
  return messages.all(
    db,
    `where seq in (select min(seq) from push_messages
       where state = 'queued' and due_at <= :now group by subscription_id)
     order by seq limit :limit`,
    { now, limit },
  );
}

/** Pushes whose sending no answer has ended, because the daemon ended before. */
export function sending(db: Reader): StoredPush[] {
  return messages.all(db, "where state = 'sending' order by seq");
}

/** Pushes that wait to be sent to a device, or whose answer has not arrived. */
export function unsentTo(db: Reader, subscription_id: string): StoredPush[] {
  const rest = `where subscription_id = :subscription_id and state in ('queued', 'sending')
    order by seq`;
  return messages.all(db, rest, { subscription_id });
}

/** The pushes of an item, in the order of their creation. */
export function ofItem(db: Reader, item_id: string): StoredPush[] {
  return messages.all(db, "where item_id = :item_id order by seq", { item_id });
}

/** The newest push to a device. */
export function lastTo(db: Reader, subscription_id: string): StoredPush | undefined {
  const rest = "where subscription_id = :subscription_id order by seq desc limit 1";
  return messages.all(db, rest, { subscription_id })[0];
}

/** Delays the pushes that wait for a device: its push service has asked for a pause. */
export function delay(tx: Tx, subscription_id: string, until: number): void {
  tx.run(
    `update push_messages set due_at = max(due_at, :until)
     where subscription_id = :subscription_id and state = 'queued'`,
    { subscription_id, until },
  );
}

/** Makes pushes due again that a clock which was set back would delay. */
export function bringForward(tx: Tx, latest: number): void {
  tx.run(
    "update push_messages set due_at = :latest where state = 'queued' and due_at > :latest",
    { latest },
  );
}

/** Deletes pushes about no item that have ended before an instant. */
export function removeOld(tx: Tx, before: number): void {
  tx.run(
    `delete from push_messages where changed_at < :before and state not in ('queued', 'sending')
       and (item_id is null or kind = 'close')`,
    { before },
  );
}

/** Removes all devices, of a daemon that gets another identity. */
export function forgetSubscriptions(tx: Tx): void {
  tx.run("delete from push_subscriptions");
}
