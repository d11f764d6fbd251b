/** Fires the schedules that are due: sends the message, and records the outcome. */

import type { Context } from "../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, Problem, toPublicCode } from "protocol/problems.ts";
import { toDisplayName } from "kit/core/text.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { invalidField } from "kit/core/problem.ts";
import { nextFire } from "kit/core/cron_pattern.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Asks } from "../asks/asks.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { Directory, Sender } from "../peers/directory.ts";
import type { Scope } from "../peers/identity/name_lookup.ts";
import { scheduleMachine } from "protocol/schedules/states.ts";
import * as rows from "./store.ts";
import type { StoredSchedule } from "./store.ts";
import { DEFAULT_TIMEZONE } from "./timing.ts";

/** Maximum messages sent per tick, so that a tick stays short. */
const FIRES_MAX = 200;
/** Time until a fire is tried again after an internal error. Other schedules fire meanwhile. */
const RETRY_MS = 60_000;

/** Time that a digest covers if the schedule has sent none before. */
const FIRST_DIGEST_MS = DAY_MS;

/** Questions to the features above. */
export interface SchedulePorts {
  /** The digest of the time since an instant, as a text. */
  digestSince(since: number): string;
}

export interface ScheduleDeps {
  readonly budgets: Budgets;
  readonly asks: Asks;
  readonly directory: Directory;
  readonly notifications: Notifications;
  readonly ports: SchedulePorts;
  /** Time for which a settled schedule is kept. */
  readonly history_ms: number;
}

type FireResult = Pick<StoredSchedule, "last_outcome" | "last_error" | "last_message_id">;

export class ScheduleFires {
  readonly #ctx: Context;
  readonly #deps: ScheduleDeps;

  constructor(ctx: Context, deps: ScheduleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: number): void {
    for (const schedule of rows.due(this.#ctx.db, now, FIRES_MAX)) this.#fire(schedule, now);
  }

  /** Sends the message and records the fire in one transaction. */
  #fire(schedule: StoredSchedule, now: number): void {
    const { db, log } = this.#ctx;
    try {
      return db.transact(() => {
        const last_message_id = this.#send(schedule, now);
        this.#record(schedule, now, { last_outcome: "fired", last_error: null, last_message_id });
      });
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      if (error instanceof Refusal) return this.#fail(schedule, now, error);
      log.error("A scheduled message failed", { error, schedule_id: schedule.schedule_id });
      db.transact((tx) => rows.update(tx, { ...schedule, next_fire_at: now + RETRY_MS }));
    }
  }

  #send(schedule: StoredSchedule, now: number): string {
    const { asks, directory, notifications } = this.#deps;
    const { kind, proven_human, traceparent, unverified } = schedule;
    // Each fire of a recurring schedule starts a new trace.
    const trace = traceparent !== null && schedule.cron === null ? { traceparent } : {};
    const parties = partiesOf(directory, schedule, schedule.to_peer);
    const message = { ...parties, text: this.#textOf(schedule, parties.to_peer, now) };
    const caused_by = schedule.schedule_id;
    const by = { proven_human, unverified, may_be_caller: true, caused_by, ...trace };
    if (kind === "notify") return notifications.notify(message, by).ticket.message.delivery_id;
    const { ticket } = asks.open({ ...message, reply_delivery: "push" }, by);
    return ticket?.message.correlation_id ?? "";
  }

  /** A name may be another peer's by now, so the recipient of a digest is checked at each fire. */
  #textOf({ text, digest, last_fired_at }: StoredSchedule, to_peer: string, now: number): string {
    if (!digest) return text;
    const { directory, ports } = this.#deps;
    mustBeHuman(directory.address(to_peer));
    return `${text}\n\n${ports.digestSince(last_fired_at ?? now - FIRST_DIGEST_MS)}`;
  }

  #fail(schedule: StoredSchedule, now: number, problem: Problem): void {
    const last_error = toPublicCode(problem.code);
    this.#ctx.db.transact(() => {
      const failed = { last_outcome: "failed" as const, last_error, last_message_id: null };
      this.#record(schedule, now, failed);
    });
    if (schedule.cron === null && schedule.from_peer_id !== null) {
      this.#notifySender(schedule, schedule.from_peer_id, problem);
    }
  }

  /** Records a fire and computes the next one after `now`. Thus missed fires collapse into one. */
  #record(schedule: StoredSchedule, now: number, result: FireResult): void {
    const { db, events } = this.#ctx;
    const next_fire_at = schedule.cron === null
      ? null
      : nextFire(schedule.cron, schedule.timezone ?? DEFAULT_TIMEZONE, now) ?? null;
    const event = next_fire_at === null ? result.last_outcome ?? "failed" : "recurred";
    const state = scheduleMachine.step(schedule.state, event);
    const settled_at = scheduleMachine.isFinal(state) ? now : null;
    db.transact((tx) =>
      rows.update(tx, {
        ...schedule,
        ...result,
        state,
        next_fire_at,
        settled_at,
        last_fired_at: now,
      })
    );
    const { schedule_id, kind, from_peer_id, from_peer_name: from, to_peer: to } = schedule;
    events.append("schedule_fired", {
      schedule_id,
      kind,
      state,
      from_peer_id,
      from,
      to,
      outcome: result.last_outcome ?? "failed",
      error: result.last_error,
      message_id: result.last_message_id,
    });
  }

  /** Notifies the sender of a failed one-shot schedule, if the sender can still be reached. */
  #notifySender(
    { schedule_id, kind, to_peer }: StoredSchedule,
    from_peer_id: string,
    problem: Problem,
  ): void {
    const { error, detail } = problem.toBody();
    const text =
      `Your scheduled ${kind} to "${toDisplayName(to_peer)}" (${schedule_id}) was not sent: ` +
      `${detail} (${error}). See it with: mesh schedule show ${schedule_id}`;
    this.#deps.notifications.tryNotifyFromDaemon(from_peer_id, text);
  }
}

/** A recipient's scope: the circle of the request, or first the sender's, which may be gone. */
export function recipientScope(
  { circle, circle_given }: Pick<StoredSchedule, "circle" | "circle_given">,
  { peer_id, role }: Sender,
): Scope {
  if (circle_given && circle !== null) return { circle, caller: { peer_id, role, circle } };
  return { caller: { peer_id, role, circle } };
}

/** The parties of a stored message now. The sender may be gone, and may be the recipient. */
export function partiesOf(
  directory: Directory,
  stored: Pick<StoredSchedule, "from_peer_id" | "from_peer" | "circle" | "circle_given">,
  recipient: string | null,
) {
  const known = stored.from_peer_id && directory.address(stored.from_peer_id);
  const from_peer = known && !known.closed ? known.peer_id : stored.from_peer;
  const circle = stored.circle ?? undefined;
  const scope = recipientScope(stored, directory.sender(from_peer, { circle }));
  const { peer_id } = directory.target(recipient ?? from_peer, { ...scope, may_be_caller: true });
  return { from_peer, to_peer: peer_id, circle };
}

/**
 * Refuses a recipient that cannot be resolved now, or is retired. The sender may be the recipient.
 * A recipient that is not addressable is refused only when its message is sent.
 */
export function mustBeRecipient(
  directory: Directory,
  to_peer: string,
  { caller, digest = false, ...circles }: Pick<StoredSchedule, "circle" | "circle_given"> & {
    readonly caller: Sender;
    readonly digest?: boolean;
  },
): void {
  const scope = recipientScope(circles, caller);
  const { peer_id, status, closed, role } = directory.resolveAnywhere(to_peer, scope);
  if (status === "retired" || closed) throw new Problem("peer_retired", { peer_id });
  if (digest) mustBeHuman({ role });
}

/** A digest has texts of all circles. */
function mustBeHuman(recipient: { readonly role: string } | undefined): void {
  if (recipient?.role !== "human") throw invalidField("digest", "A digest goes to the human only");
}
