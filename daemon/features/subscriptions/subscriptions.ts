/** Creates, cancels and lists subscriptions, and runs their work at each tick. */

import type { Context } from "../../data/context.ts";
import { invalidField } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Asks } from "../asks/asks.ts";
import * as jobRows from "../jobs/store.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { PeerState } from "../peers/changes.ts";
import type { Directory, Sender } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import { mustBeRecipient, recipientScope } from "../schedules/fires.ts";
import { instantOf, type When } from "protocol/schedules/when.ts";
import { REPEAT_MS_MIN, stepSubscription } from "./changes.ts";
import { ConditionChecks } from "./checks.ts";
import { type Condition, formatCondition } from "protocol/subscriptions/conditions.ts";
import {
  ACTIVE_MAX,
  type CreateSubscription,
  PER_PEER_MAX,
  type Subscription,
  type SubscriptionFilter,
} from "protocol/subscriptions/contract.ts";
import { FileEdits } from "./edits.ts";
import { subscriptionMachine } from "protocol/subscriptions/states.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";
import { OccurrenceReports } from "./occurrence_reports.ts";

/** Maximum subscriptions ended or deleted per tick, so that a tick stays short. */
const ROWS_MAX = 200;
/** Maximum time for which a subscription reports each occurrence. */
const UNTIL_MS_MAX = 7 * DAY_MS;

interface SubscriptionsDeps {
  readonly budgets: Budgets;
  readonly asks: Asks;
  readonly directory: Directory;
  readonly notifications: Notifications;
  /** Time for which a settled subscription is kept. */
  readonly history_ms: number;
  readonly shutdownSignal: AbortSignal;
}

export class Subscriptions {
  readonly #ctx: Context;
  readonly #deps: SubscriptionsDeps;
  readonly checks: ConditionChecks;
  readonly #edits: FileEdits;
  readonly #reports: OccurrenceReports;

  constructor(ctx: Context, deps: SubscriptionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#reports = new OccurrenceReports(ctx, deps);
    const fail = (subscription: StoredSubscription, error: string) =>
      this.#reports.fail(subscription, error);
    this.checks = new ConditionChecks(ctx, { asks: deps.asks, fail });
    this.#edits = new FileEdits(ctx, { shutdownSignal: deps.shutdownSignal, fail });
  }

  create(body: CreateSubscription, requestContext: RequestContext): Subscription {
    const { db, clock, events } = this.#ctx;
    const { from_peer, to_peer = null, text = null, condition } = body;
    const now = clock.now();
    return db.transact((tx) => {
      const { directory } = this.#deps;
      const from = directory.sender(from_peer, { circle: body.circle });
      const circle = body.circle ?? (from.role === "human" ? null : from.circle);
      const circles = { circle, circle_given: body.circle !== undefined };
      if (to_peer !== null) mustBeRecipient(directory, to_peer, { ...circles, caller: from });
      else if (from.peer_id === null) {
        throw invalidField(
          "to_peer",
          "Name a recipient, because the sender is not a registered peer",
        );
      }
      const subject = this.#subjectOf(condition, recipientScope(circles, from));
      const until = body.until === undefined ? null : untilOf(body.until, now);
      this.#mustHaveRoom(from);
      const subscription: StoredSubscription = {
        subscription_id: this.#newId(),
        from_peer,
        from_peer_id: from.peer_id,
        from_peer_name: from.name,
        condition: formatCondition({ ...condition, subject: subject.name }),
        kind: condition.kind,
        subject_id: subject.id,
        expected: condition.expected,
        glob: condition.glob,
        folder: subject.folder,
        to_peer,
        text,
        ...circles,
        until,
        state: "active",
        holds: false,
        pending: 0,
        pending_proof: null,
        due_at: null,
        fires: 0,
        last_fired_at: null,
        last_outcome: null,
        last_error: null,
        last_proof: null,
        last_message_id: null,
        proven_human: from.role === "human" && requestContext.proven_human,
        unverified: requestContext.unverified ?? false,
        files_since: condition.kind === "file" ? now : null,
        scan_at: condition.kind === "file" ? now : null,
        created_at: now,
        settled_at: null,
      };
      rows.insert(tx, subscription);
      const { subscription_id, state } = subscription;
      this.#deps.budgets.include(tx, subscription_id, from, requestContext, "schedule");
      events.append("subscription_changed", { subscription_id, state });
      return subscription;
    });
  }

  cancel(subscription_id: string): Subscription {
    return this.#ctx.db.transact(() => {
      const found = this.mustGet(subscription_id);
      if (found.state === "cancelled") return found;
      if (subscriptionMachine.accepts(found.state, "cancelled")) {
        return stepSubscription(this.#ctx, found, "cancelled");
      }
      throw new Problem("subscription_settled", { subscription_id, state: found.state });
    });
  }

  get(subscription_id: string): StoredSubscription | undefined {
    return rows.get(this.#ctx.db, subscription_id);
  }

  mustGet(subscription_id: string): StoredSubscription {
    const found = this.get(subscription_id);
    if (!found) throw new Problem("unknown_subscription", { subscription_id });
    return found;
  }

  list({ state, from_peer, limit }: SubscriptionFilter): Subscription[] {
    return rows.list(this.#ctx.db, { state: state ?? null, from: from_peer ?? null, limit });
  }

  /** A peer's status or turn changed, in this transaction. */
  peerChanged(before: PeerState, after: PeerState): void {
    this.checks.peerChanged(before, after);
    if (after.status !== "retired" || before.status === "retired") return;
    for (const subscription of rows.ofSubscriber(this.#ctx.db, after.peer_id)) {
      stepSubscription(this.#ctx, subscription, "subscriber_gone");
    }
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    this.checks.tick();
    this.#edits.tick(now);
    this.#reports.tick(now);
    for (const subscription of rows.expired(db, now, ROWS_MAX)) {
      stepSubscription(this.#ctx, subscription, "expired");
    }
    const old = rows.settledBefore(db, now - this.#deps.history_ms, ROWS_MAX);
    if (old.length > 0) db.transact((tx) => old.forEach((id) => rows.remove(tx, id)));
  }

  /** Called after the clock was set back, when postponed scans would otherwise wait too long. */
  clockSetBack(now: number): void {
    this.#ctx.db.transact((tx) => rows.bringForward(tx, { now, due: now + REPEAT_MS_MIN }));
  }

  /** Finds the subject of the condition. A peer must be on this machine, and not be retired. */
  #subjectOf(
    { kind, subject }: Condition,
    scope: ReturnType<typeof recipientScope>,
  ): { id: string; name: string; folder: string | null } {
    const { db } = this.#ctx;
    if (kind === "job") {
      if (!jobRows.get(db, subject)) throw new Problem("unknown_job", { job_id: subject });
      return { id: subject, name: subject, folder: null };
    }
    if (kind === "ask") {
      const { correlation_id: id } = this.#deps.asks.mustGet(subject);
      return { id, name: id, folder: null };
    }
    const { peer_id: id, name } = this.#deps.directory.findNotRetired(subject, scope);
    if (kind === "peer") return { id, name, folder: null };
    const folder = peerRows.get(db, id)?.path ?? null;
    if (folder === null) throw invalidField("condition", `${name} has no folder`);
    return { id, name, folder };
  }

  #mustHaveRoom(from: Sender): void {
    const { db } = this.#ctx;
    if (rows.countOf(db, from) >= PER_PEER_MAX) {
      throw new Problem("subscriptions_full", { whose: from.name, active_max: PER_PEER_MAX });
    }
    if (rows.activeCount(db) >= ACTIVE_MAX) {
      throw new Problem("subscriptions_full", { whose: "this machine", active_max: ACTIVE_MAX });
    }
  }

  #newId(): string {
    const { db, ids } = this.#ctx;
    let id = ids.next("sub");
    while (rows.get(db, id)) id = ids.next("sub");
    return id;
  }
}

function untilOf(when: When, now: number): number {
  const until = instantOf(when, now);
  if (until > now && until - now <= UNTIL_MS_MAX) return until;
  throw invalidField("until", "not in the next 7 days");
}
