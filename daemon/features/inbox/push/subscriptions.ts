/** The devices that get pushes: adding, changing and removing them. */

import type { Context } from "../../../data/context.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { areDeviceKeys, type KeyPair } from "kit/host/web_push.ts";
import { refusalOfAddress } from "kit/net/outgoing/public_fetch.ts";
import { Problem } from "protocol/problems.ts";
import {
  type ChangePush,
  type PushSubscriptionRecord,
  type SubscribePush,
  SUBSCRIPTIONS_MAX,
} from "protocol/push/contract.ts";
import { deviceName } from "protocol/push/device_name.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/** Time for which a device that gets no more pushes is still shown. */
const ENDED_MS = 7 * DAY_MS;

interface SubscriptionsDeps {
  readonly keys: () => KeyPair;
  readonly allow_local: boolean;
}

/** The session by which a browser subscribes. */
interface Subscriber {
  readonly via: "daemon" | "relay";
  /** The paired device; undefined for other sessions. */
  readonly device_id: string | undefined;
  readonly user_agent: string | null;
}

export class PushSubscriptions {
  readonly #ctx: Context;
  readonly #deps: SubscriptionsDeps;

  constructor(ctx: Context, deps: SubscriptionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  list() {
    return {
      public_key: this.#deps.keys().public_key,
      subscriptions: rows.all(this.#ctx.db).map((stored) => this.#toRecord(stored)),
      subscriptions_max: SUBSCRIPTIONS_MAX,
    };
  }

  /** Adds a device. The same endpoint again is the same device, perhaps with new settings. */
  add(given: SubscribePush, subscriber: Subscriber): PushSubscriptionRecord {
    const { db, clock, ids } = this.#ctx;
    const { endpoint, keys } = given;
    const reason = refusalOfAddress(endpoint, this.#deps);
    if (reason !== undefined) throw new Problem("push_address_refused", { reason });
    if (!areDeviceKeys(keys)) throw new Problem("push_keys_refused", {});
    return db.transact((tx) => {
      const before = rows.byEndpoint(tx, endpoint) ?? rows.byEndpoint(tx, given.replaces ?? "");
      const count = rows.active(tx).length;
      if (!before && count >= SUBSCRIPTIONS_MAX) {
        throw new Problem("too_many_push_subscriptions", { subscriptions: count });
      }
      const user_agent = given.user_agent ?? subscriber.user_agent;
      const stored: StoredSubscription = {
        subscription_id: before?.subscription_id ?? ids.next("psub"),
        device_id: subscriber.device_id ?? null,
        endpoint,
        ...keys,
        name: given.name ?? before?.name ?? deviceName(user_agent),
        user_agent,
        account: given.account ?? null,
        via: subscriber.via,
        questions: given.questions,
        approvals: given.approvals,
        done: given.done,
        created_at: before?.created_at ?? clock.now(),
        used_at: before?.used_at ?? null,
        ended_at: null,
        end_reason: null,
      };
      rows.subscriptions[before ? "update" : "insert"](tx, stored);
      this.#publish(stored, before ? "changed" : "added");
      return this.#toRecord(stored);
    });
  }

  change(id: string, changes: ChangePush): PushSubscriptionRecord {
    return this.#ctx.db.transact((tx) => {
      const stored = { ...this.mustGet(id), ...withoutUndefined(changes) };
      rows.subscriptions.update(tx, stored);
      this.#publish(stored, "changed");
      return this.#toRecord(stored);
    });
  }

  /** Forgets a device, with its pushes. */
  remove(id: string): void {
    this.#ctx.db.transact((tx) => {
      const stored = this.mustGet(id);
      rows.subscriptions.remove(tx, id);
      this.#publish(stored, "removed");
    });
  }

  /** Ends a device that its push service no longer knows; it is shown for a week. */
  end(stored: StoredSubscription, end_reason: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      rows.subscriptions.update(tx, { ...stored, ended_at: clock.now(), end_reason });
      this.#publish(stored, "gone");
    });
  }

  mustGet(subscription_id: string): StoredSubscription {
    const stored = rows.subscriptions.get(this.#ctx.db, subscription_id);
    if (!stored) throw new Problem("unknown_push_subscription", { subscription_id });
    return stored;
  }

  forgetEnded(now: number): void {
    this.#ctx.db.transact((tx) => rows.removeEnded(tx, now - ENDED_MS));
  }

  #publish({ subscription_id, name }: StoredSubscription, state: string): void {
    this.#ctx.events.append("push_subscription_changed", { subscription_id, name, state });
  }

  #toRecord(stored: StoredSubscription): PushSubscriptionRecord {
    const { endpoint, p256dh: _key, auth: _secret, account: _account, ...record } = stored;
    const newest = rows.lastTo(this.#ctx.db, record.subscription_id);
    const last = newest && {
      push_id: newest.push_id,
      state: newest.state,
      reason: newest.reason,
      at: newest.changed_at,
    };
    return { ...record, service: new URL(endpoint).host, last: last ?? null };
  }
}

/** Fields that a request leaves out keep their values. */
function withoutUndefined<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
