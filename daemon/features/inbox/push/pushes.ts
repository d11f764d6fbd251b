/**
 * Pushes of inbox items to devices: one for each item and device, stored before it is sent. An item
 * that is over is not sent any more, and a notification that a device shows of it is replaced.
 */

import type { Context } from "../../../data/context.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { crypto, equalSecrets } from "kit/host/node_library.ts";
import { atMostEvery, doublingMs } from "kit/core/timeout.ts";
import { PUSH_BYTES } from "kit/host/web_push.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { InboxItem } from "protocol/inbox.ts";
import { Problem } from "protocol/problems.ts";
import { closingContentOf, contentOf, type PushContent, topicOf } from "protocol/push/content.ts";
import type { PushPayload } from "protocol/push/payload.ts";
import type { ReportPush } from "protocol/push/contract.ts";
import { type PushEvent, pushMachine } from "protocol/push/states.ts";
import { insertStage } from "../../messages/ledger/stages.ts";
import * as items from "../store.ts";
import {
  type OutgoingPush,
  type PushOutcome,
  PushService,
  type PushServiceDeps,
} from "./push_service.ts";
import * as rows from "./store.ts";
import type { StoredPush, StoredSubscription } from "./store.ts";
import { PushSubscriptions } from "./subscriptions.ts";

/** Time after which an item is not pushed any more. */
const ITEM_MS = DAY_MS;
/**
 * Time for which a push service keeps the push that replaces a notification. A device that cannot
 * be reached so long gets neither of the two: both have the same topic.
 */
const CLOSE_MS = 60_000;
const TEST_MS = 60_000;
/** Pauses before a push is sent again, unless the push service names one. */
const PAUSES = { first: 5000, max: 600_000 };
/** Pushes that are sent at the same time, each to another device. */
const SENT_AT_ONCE_MAX = 8;
const CLEAN_EVERY_MS = 60_000;
/** Time for which pushes about no item are kept. */
const KEPT_MS = 7 * DAY_MS;
/** Characters by which the text of a push is shortened until it fits. */
const SHORTENED_CHARS = 40;

interface PushesDeps extends PushServiceDeps {
  readonly machine: string;
  readonly shutdownSignal: AbortSignal;
}

/** The item of a push, and the delivery in whose trace the push is recorded. */
interface Pushed {
  readonly item_id: string;
  readonly delivery_id: string;
}

export class Pushes {
  readonly #ctx: Context;
  readonly #deps: PushesDeps;
  readonly #service: PushService;
  readonly subscriptions: PushSubscriptions;
  /** Devices to which a push is being sent. */
  readonly #busy = new Set<string>();
  readonly #isCleanDue: () => boolean;

  constructor(ctx: Context, deps: PushesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#service = new PushService(deps);
    this.subscriptions = new PushSubscriptions(ctx, deps);
    this.#isCleanDue = atMostEvery(ctx.clock, CLEAN_EVERY_MS);
  }

  /** Pushes that the last run was sending may not have arrived, and are sent again. */
  start(): void {
    this.#ctx.db.transact((tx) => {
      for (const push of rows.sending(tx)) {
        this.#step(tx, { ...push, due_at: this.#ctx.clock.now() }, "interrupted", "daemon_restart");
      }
    });
  }

  /** Stores the pushes of a new item, for each device that wants it, and sends them. */
  offer({ item_id, delivery_id }: Pushed): void {
    this.#ctx.db.transact((tx) => {
      const item = items.get(tx, item_id);
      const devices = rows.active(tx);
      if (!item || devices.length === 0) return;
      const topic = topicOf(item);
      for (const { subscription_id, [topic]: wanted } of devices) {
        if (wanted) this.#add(tx, { subscription_id, item_id, delivery_id, kind: "item" }, item);
      }
    });
  }

  /** Drops the pushes of an item that is over, and replaces the notifications that show it. */
  itemChanged(item_id: string): void {
    this.#ctx.db.transact((tx) => {
      const item = items.get(tx, item_id);
      if (item && !this.#isOver(item)) return;
      for (const push of rows.ofItem(tx, item_id)) this.#close(tx, push);
    });
  }

  /** Sends a push that says that pushes arrive. */
  test(subscription_id: string): { push_id: string } {
    return this.#ctx.db.transact((tx) => {
      this.subscriptions.mustGet(subscription_id);
      const push = { subscription_id, item_id: null, delivery_id: null, kind: "test" as const };
      return { push_id: this.#add(tx, push) };
    });
  }

  /** A device's report about a push, with the token that only the push had. */
  report({ push_id, token, report }: ReportPush): { is_over: boolean } {
    return this.#ctx.db.transact((tx) => {
      const push = rows.messages.get(tx, push_id);
      if (!push || !equalSecrets(token, this.#tokenOf(push_id))) {
        throw new Problem("unknown_push", {});
      }
      if (pushMachine.accepts(push.state, report)) this.#step(tx, push, report, null);
      const item = push.item_id === null ? undefined : items.get(tx, push.item_id);
      return { is_over: item !== undefined && this.#isOver(item) };
    });
  }

  /** Called once a second. Sends the pushes that are due. */
  tick(now: number): void {
    this.#sendDue();
    if (!this.#isCleanDue()) return;
    this.subscriptions.forgetEnded(now);
    this.#ctx.db.transact((tx) => rows.removeOld(tx, now - KEPT_MS));
  }

  clockSetBack(now: number): void {
    this.#ctx.db.transact((tx) => rows.bringForward(tx, now + PAUSES.max));
  }

  #add(
    tx: Tx,
    push: Pick<StoredPush, "subscription_id" | "item_id" | "delivery_id" | "kind">,
    item?: Pick<InboxItem, "expires_at">,
  ): string {
    const { clock, ids, db } = this.#ctx;
    const now = clock.now();
    const ms = { item: ITEM_MS, close: CLOSE_MS, test: TEST_MS }[push.kind];
    const push_id = ids.next("push");
    rows.messages.insert(tx, {
      ...push,
      push_id,
      state: "queued",
      reason: null,
      attempts: 0,
      due_at: now,
      expires_at: Math.min(
        now + ms,
        push.kind === "item" ? item?.expires_at ?? Infinity : Infinity,
      ),
      created_at: now,
      changed_at: now,
    });
    db.afterCommit(() => this.#sendDue());
    return push_id;
  }

  #sendDue(): void {
    const { background, clock, db } = this.#ctx;
    if (this.#deps.shutdownSignal.aborted) return;
    for (const push of rows.due(db, clock.now(), SENT_AT_ONCE_MAX)) {
      const { subscription_id } = push;
      if (this.#busy.size >= SENT_AT_ONCE_MAX || this.#busy.has(subscription_id)) continue;
      this.#busy.add(subscription_id);
      void background.run("A push was not sent", this.#send(push));
    }
  }

  async #send({ push_id, subscription_id }: StoredPush): Promise<void> {
    const { db } = this.#ctx;
    try {
      const begun = db.transact((tx) => this.#begin(tx, push_id));
      // The push is on the disk before it is sent, so that it is sent again if its answer is lost.
      await db.whenDurable();
      if (!begun) return;
      const { subscription, outgoing } = begun;
      const outcome = await this.#service.send(subscription, outgoing, this.#deps.shutdownSignal);
      db.transact((tx) => this.#finish(tx, push_id, outcome));
      await db.whenDurable();
    } finally {
      this.#busy.delete(subscription_id);
    }
    this.#sendDue();
  }

  /** The push to send now; undefined if it is not sent. */
  #begin(
    tx: Tx,
    push_id: string,
  ): { subscription: StoredSubscription; outgoing: OutgoingPush } | undefined {
    const push = rows.messages.get(tx, push_id);
    const subscription = push && rows.subscriptions.get(tx, push.subscription_id);
    if (!push || !subscription || push.state !== "queued") return undefined;
    const now = this.#ctx.clock.now();
    const item = push.item_id === null ? undefined : items.get(tx, push.item_id);
    if (push.kind === "item" && (!item || this.#isOver(item))) {
      return void this.#step(tx, push, "item_over", "over");
    }
    if (push.expires_at <= now) return void this.#step(tx, push, "expired", "expired");
    this.#step(tx, { ...push, attempts: push.attempts + 1 }, "attempted", null);
    const payload = this.#payloadOf(push, subscription, item);
    return {
      subscription,
      outgoing: {
        text: toText(payload),
        topic: push.item_id ?? push.kind,
        urgency: item?.question?.blocking && push.kind === "item" ? "high" : "normal",
        ttl_seconds: Math.ceil((push.expires_at - now) / 1000),
      },
    };
  }

  #finish(tx: Tx, push_id: string, outcome: PushOutcome): void {
    const push = rows.messages.get(tx, push_id);
    const subscription = push && rows.subscriptions.get(tx, push.subscription_id);
    if (!push || !subscription) return; // The device was removed meanwhile.
    const now = this.#ctx.clock.now();
    const { kind, reason, pause_ms } = outcome;
    if (kind === "taken") {
      rows.subscriptions.update(tx, { ...subscription, used_at: now });
      this.#stepIf(tx, push, "accepted", reason);
      // The item may have been answered while its push was sent.
      if (push.item_id !== null) this.itemChanged(push.item_id);
    } else if (kind === "gone") {
      this.subscriptions.end(subscription, `the push service no longer knows it (${reason})`);
      for (const unsent of rows.unsentTo(tx, push.subscription_id)) {
        this.#step(tx, unsent, "device_ended", "subscription_gone");
      }
    } else if (kind === "refused") {
      this.#stepIf(tx, push, "refused", reason);
    } else {
      const due_at = now + (pause_ms ?? doublingMs(PAUSES, push.attempts - 1));
      this.#stepIf(tx, { ...push, due_at }, "delayed", reason);
      if (pause_ms !== undefined) rows.delay(tx, push.subscription_id, due_at);
    }
  }

  /** Ends a push whose item is over. A device that may show it gets another one in its place. */
  #close(tx: Tx, push: StoredPush): void {
    if (push.kind !== "item") return;
    if (push.state === "queued") this.#step(tx, push, "item_over", "over");
    if (push.state !== "taken" && push.state !== "shown") return;
    const { subscription_id, item_id, delivery_id } = push;
    const isClosed = rows.ofItem(tx, item_id ?? "").some((other) =>
      other.kind === "close" && other.subscription_id === subscription_id
    );
    const isActive = rows.subscriptions.get(tx, subscription_id)?.ended_at === null;
    if (isClosed || !isActive) return;
    this.#add(tx, { subscription_id, item_id, delivery_id, kind: "close" });
  }

  /** A report of the device may have come before the answer of the push service. */
  #stepIf(tx: Tx, push: StoredPush, on: PushEvent, reason: string): void {
    if (pushMachine.accepts(push.state, on)) this.#step(tx, push, on, reason);
  }

  #step(tx: Tx, push: StoredPush, on: PushEvent, reason: string | null): void {
    const { clock, events } = this.#ctx;
    const changed_at = clock.now();
    const state = pushMachine.step(push.state, on);
    const isUpdated = rows.messages.update(tx, { ...push, state, reason, changed_at });
    const { push_id, subscription_id, item_id, delivery_id } = push;
    events.append("push_changed", { push_id, subscription_id, item_id, state, reason });
    if (!isUpdated || delivery_id === null || push.kind !== "item" || on === "attempted") return;
    const name = rows.subscriptions.get(tx, subscription_id)?.name ?? subscription_id;
    insertStage(tx, {
      delivery_id,
      stage: on === "delayed" || on === "interrupted" ? "push_delayed" : `push_${state}`,
      status: state === "failed" ? "fail" : "ok",
      ts: changed_at,
      detail: reason === null ? name : `${name}: ${reason}`,
    });
  }

  #isOver({ kind, state, read, expires_at }: InboxItem): boolean {
    if (kind !== "ask") return read;
    return state !== "open" || expires_at !== null && expires_at <= this.#ctx.clock.now();
  }

  #payloadOf(
    { push_id, kind, item_id }: StoredPush,
    { via, account }: StoredSubscription,
    item: InboxItem | undefined,
  ): PushPayload {
    const { title, body, actions } = contentFor(kind, item);
    return {
      kind,
      push_id,
      token: this.#tokenOf(push_id),
      item_id,
      subject: item?.kind === "ask" ? item.correlation_id ?? item.item_id : item_id ?? "test",
      // Behind a relay, a device may get the pushes of several machines.
      title: via === "relay" ? `${title} · ${this.#deps.machine}` : title,
      body,
      actions,
      account,
      at: item?.created_at ?? this.#ctx.clock.now(),
    };
  }

  /** The token for reports about a push, the same at each attempt. */
  #tokenOf(push_id: string): string {
    const { private_key } = this.#deps.keys();
    return crypto().createHmac("sha256", private_key).update(`report ${push_id}`)
      .digest("base64url");
  }
}

const TEST_CONTENT: PushContent = {
  title: "Agent Mesh",
  body: "Notifications reach this device.",
  actions: [],
};

function contentFor(kind: StoredPush["kind"], item: InboxItem | undefined): PushContent {
  if (kind === "test" || !item) return TEST_CONTENT;
  return kind === "close" ? closingContentOf(item) : contentOf(item);
}

/** A text of many bytes is shortened, and then has no buttons. */
function toText(payload: PushPayload): string {
  const bytesOf = (text: string) => new TextEncoder().encode(text).length;
  let text = JSON.stringify(payload);
  for (let { body } = payload; bytesOf(text) > PUSH_BYTES && body !== "";) {
    body = body.slice(0, Math.max(0, body.length - SHORTENED_CHARS)).toWellFormed();
    text = JSON.stringify({ ...payload, body, actions: [] });
  }
  return text;
}
