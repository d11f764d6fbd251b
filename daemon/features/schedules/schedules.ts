/** The desk of scheduled messages: what is said later, and what came of it. */

import type { Context } from "kit/data/context.ts";
import { isProblem, Problem, recoverableProblem, toPublicCode } from "kit/core/problem.ts";
import { toDisplayName } from "kit/core/text.ts";
import { nextFire } from "kit/core/cron.ts";
import type { Address, Role } from "../peers/contract.ts";
import {
  ACTIVE_MAX,
  type CreateSchedule,
  type EditSchedule,
  type Schedule,
  type ScheduleFilter,
} from "./contract.ts";
import { type ScheduleEvent, scheduleMachine } from "./machine.ts";
import * as rows from "./store.ts";
import type { StoredSchedule } from "./store.ts";
import { instantOf, problemOf, type When } from "./when.ts";

/** Messages that one beat sends, and records that it forgets, so that no beat is long. */
const FIRES_MAX = 200;
const FORGET_ROWS_MAX = 200;
/** After a fault of ours a fire is tried again so much later: it keeps no other from firing. */
const RETRY_MS = 60_000;
/** A pattern goes by this clock where no other is named. */
const TIMEZONE = "UTC";

interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Role | null;
  readonly mesh_session_id: string | null;
}

/** What the ask and the notify desk take. */
export interface ScheduledMessage {
  readonly from_peer: string;
  readonly to_peer: string;
  readonly text: string;
  readonly circle?: string;
}

/** How a request came in. */
export interface ScheduleContext {
  readonly proven_human: boolean;
  readonly traceparent?: string | undefined;
}

export interface ScheduleDeps {
  readonly directory: {
    sender(argument: string, scope?: { circle?: string | undefined }): Sender;
    resolve(argument: string, scope: { circle?: string | undefined; caller: Sender }): Address;
    /** A peer by its exact id, however it fares. */
    address(peer_id: string): Address | undefined;
  };
  /** Opens an ask, or sends a note, as any other; its id. Refuses with a problem. */
  readonly senders: Readonly<
    Record<Schedule["kind"], (message: ScheduledMessage, requestContext: ScheduleContext) => string>
  >;
  /** The daemon tells a peer something. */
  notify(to_peer: string, text: string): void;
  /** How long a schedule is kept that has come to its end. */
  readonly history_ms: number;
}

/** How a fire went. */
type FireResult = Pick<StoredSchedule, "last_outcome" | "last_error" | "last_message_id">;

type Timing = Pick<StoredSchedule, "fire_at" | "cron" | "timezone" | "next_fire_at">;

export class Schedules {
  readonly #ctx: Context;
  readonly #deps: ScheduleDeps;

  constructor(ctx: Context, deps: ScheduleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  create(body: CreateSchedule, requestContext: ScheduleContext): Schedule {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    return db.transact((tx) => {
      const { from_peer, to_peer, text, kind } = body;
      const from = this.#deps.directory.sender(from_peer, { circle: body.circle });
      // The human belongs to no circle, and finds a name in all of them.
      const circle = body.circle ?? (from.role === "human" ? null : from.circle);
      this.#mustBeRecipient(to_peer, circle, from);
      const timing = timingOf(body, now);
      if (rows.activeCount(db) >= ACTIVE_MAX) {
        throw new Problem("schedules_full", { active_max: ACTIVE_MAX });
      }
      const schedule: StoredSchedule = {
        schedule_id: this.#newId(),
        from_peer,
        from_peer_id: from.peer_id,
        from_peer_name: from.name,
        to_peer,
        text,
        kind,
        circle,
        ...timing,
        state: "active",
        last_fired_at: null,
        last_outcome: null,
        last_error: null,
        last_message_id: null,
        proven_human: from.role === "human" && requestContext.proven_human,
        traceparent: requestContext.traceparent ?? null,
        created_at: now,
        settled_at: null,
      };
      rows.insert(tx, schedule);
      return schedule;
    });
  }

  /** Changes what is active. Words that the human did not prove are not the human's any more. */
  edit(schedule_id: string, patch: EditSchedule, requestContext: ScheduleContext): Schedule {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.#mustBeActive(schedule_id, "edited");
      const { to_peer = before.to_peer, text = before.text, kind = before.kind } = patch;
      if (patch.to_peer !== undefined) {
        const sender = this.#deps.directory.sender(senderOf(before));
        this.#mustBeRecipient(to_peer, before.circle, sender);
      }
      const schedule: StoredSchedule = {
        ...before,
        to_peer,
        text,
        kind,
        ...updatedTiming(before, patch, clock.now()),
        state: scheduleMachine.step(before.state, "edited"),
        proven_human: before.proven_human && requestContext.proven_human,
      };
      rows.update(tx, schedule);
      return schedule;
    });
  }

  cancel(schedule_id: string): Schedule {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const found = this.mustGet(schedule_id);
      if (found.state === "cancelled") return found;
      const before = this.#mustBeActive(schedule_id, "cancelled");
      const state = scheduleMachine.step(before.state, "cancelled");
      const schedule: StoredSchedule = {
        ...before,
        state,
        next_fire_at: null,
        settled_at: clock.now(),
      };
      rows.update(tx, schedule);
      return schedule;
    });
  }

  get(schedule_id: string): StoredSchedule | undefined {
    return rows.get(this.#ctx.db, schedule_id);
  }

  mustGet(schedule_id: string): StoredSchedule {
    const schedule = this.get(schedule_id);
    if (!schedule) throw new Problem("unknown_schedule", { schedule_id });
    return schedule;
  }

  list({ state, from_peer, to_peer, circle, limit }: ScheduleFilter): Schedule[] {
    return rows.list(this.#ctx.db, {
      state: state ?? null,
      circle: circle ?? null,
      limit,
      from: from_peer === undefined ? null : this.#toPeerMatch(from_peer),
      to: to_peer === undefined ? null : this.#toPeerMatch(to_peer),
    });
  }

  /** Fires what is due, and forgets what came to its end long ago. */
  tick(now: number): void {
    const { db } = this.#ctx;
    for (const schedule of rows.due(db, now, FIRES_MAX)) this.#fire(schedule, now);
    const old = rows.settledBefore(db, now - this.#deps.history_ms, FORGET_ROWS_MAX);
    if (old.length > 0) db.transact((tx) => old.forEach((id) => rows.remove(tx, id)));
  }

  /** The message and the record of its fire are one transaction: neither is without the other. */
  #fire(schedule: StoredSchedule, now: number): void {
    const { db, log } = this.#ctx;
    try {
      return db.transact(() => {
        const last_message_id = this.#send(schedule);
        this.#record(schedule, now, { last_outcome: "fired", last_error: null, last_message_id });
      });
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      if (error instanceof Problem) return this.#fail(schedule, now, error);
      log.error("A scheduled message failed", { error, schedule_id: schedule.schedule_id });
      db.transact((tx) => rows.update(tx, { ...schedule, next_fire_at: now + RETRY_MS }));
    }
  }

  #send({ kind, to_peer, text, circle, ...schedule }: StoredSchedule): string {
    const sender = schedule.from_peer_id && this.#deps.directory.address(schedule.from_peer_id);
    const from_peer = sender && !sender.closed ? sender.peer_id : schedule.from_peer;
    const { proven_human, traceparent } = schedule;
    // Each fire of a recurring one is a trace of its own.
    const trace = traceparent !== null && schedule.cron === null ? { traceparent } : {};
    const message = { from_peer, to_peer, text, ...(circle !== null && { circle }) };
    return this.#deps.senders[kind](message, { proven_human, ...trace });
  }

  #fail(schedule: StoredSchedule, now: number, problem: Problem): void {
    const { db } = this.#ctx;
    const last_error = toPublicCode(problem.code);
    db.transact(() => {
      const failed = { last_outcome: "failed" as const, last_error, last_message_id: null };
      this.#record(schedule, now, failed);
    });
    if (schedule.cron === null && schedule.from_peer_id !== null) {
      this.#notifySender(schedule, schedule.from_peer_id, problem);
    }
  }

  /** However many fires were missed, one stands for them: the next is after now. */
  #record(schedule: StoredSchedule, now: number, result: FireResult): void {
    const { db, events } = this.#ctx;
    const next_fire_at = schedule.cron === null
      ? null
      : nextFire(schedule.cron, schedule.timezone ?? TIMEZONE, now) ?? null;
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

  /** The sender of a one-shot is told that it failed. One that is gone cannot be told. */
  #notifySender(
    { schedule_id, kind, to_peer }: StoredSchedule,
    from_peer_id: string,
    problem: Problem,
  ): void {
    const { db, log } = this.#ctx;
    const { error, detail } = problem.toBody();
    const text =
      `Your scheduled ${kind} to "${toDisplayName(to_peer)}" (${schedule_id}) was not sent: ` +
      `${detail} (${error}). See it with: mesh schedule show ${schedule_id}`;
    try {
      db.transact(() => this.#deps.notify(from_peer_id, text));
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      log.debug("A sender could not be told", { peer_id: from_peer_id, code: refusal.code });
    }
  }

  /** Whom a fire would be for, were it now. One that takes no messages may take some then. */
  #mustBeRecipient(to_peer: string, circle: string | null, caller: Sender): void {
    const scope = { caller, ...(circle !== null && { circle }) };
    const { peer_id, status, closed } = this.#deps.directory.resolve(to_peer, scope);
    if (status === "retired" || closed) throw new Problem("peer_retired", { peer_id });
    if (caller.peer_id === peer_id) throw new Problem("to_self", { peer_id });
  }

  #mustBeActive(schedule_id: string, event: ScheduleEvent): StoredSchedule {
    const found = this.mustGet(schedule_id);
    if (scheduleMachine.accepts(found.state, event)) return found;
    throw new Problem("schedule_settled", { schedule_id, state: found.state });
  }

  #newId(): string {
    const { db, ids } = this.#ctx;
    let schedule_id = ids.next("sched");
    while (rows.get(db, schedule_id)) schedule_id = ids.next("sched");
    return schedule_id;
  }

  /** Schedules outlive their peers, so that a filter may name anyone. */
  #toPeerMatch(argument: string): rows.PeerMatch {
    const { directory } = this.#deps;
    try {
      const { peer_id, name } = directory.resolve(argument, { caller: NOBODY });
      return { argument, peer_id, name };
    } catch (error) {
      if (error instanceof Problem) return { argument, peer_id: argument, name: argument };
      throw error;
    }
  }
}

/** A caller that looks for names in every circle. */
const NOBODY: Sender = {
  peer_id: null,
  name: "nobody",
  circle: null,
  role: null,
  mesh_session_id: null,
};

function senderOf({ from_peer, from_peer_id }: StoredSchedule): string {
  return from_peer_id ?? from_peer;
}

/** When it fires first, and by which clock. */
function timingOf({ fire_at, cron, timezone }: TimingInput, now: number): Timing {
  if (fire_at !== undefined) {
    const at = instantOf(fire_at, now);
    const problem = problemOf(at, now);
    if (problem) throw invalidTiming("fire_at", problem);
    return { fire_at: at, cron: null, timezone: timezone ?? null, next_fire_at: at };
  }
  const clock = timezone ?? TIMEZONE;
  const next_fire_at = cron === undefined ? undefined : nextFire(cron, clock, now);
  if (cron === undefined || next_fire_at === undefined) {
    throw invalidTiming("cron", "It never fires");
  }
  return { fire_at: null, cron, timezone: clock, next_fire_at };
}

interface TimingInput {
  readonly fire_at?: When | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
}

/** The timing after a change; as it was where nothing of it changed. */
function updatedTiming(
  before: StoredSchedule,
  { fire_at, cron, timezone }: TimingInput,
  now: number,
): Timing {
  const clock = timezone ?? before.timezone ?? undefined;
  if (fire_at !== undefined) return timingOf({ fire_at, timezone }, now);
  if (cron !== undefined) return timingOf({ cron, timezone: clock }, now);
  if (timezone !== undefined && before.cron !== null) {
    return timingOf({ cron: before.cron, timezone }, now);
  }
  const { fire_at: at, cron: pattern, next_fire_at } = before;
  return { fire_at: at, cron: pattern, timezone: clock ?? null, next_fire_at };
}

function invalidTiming(path: string, message: string): Problem<"invalid_request"> {
  return new Problem("invalid_request", {
    summary: `${path}: ${message}`,
    issues: [{ path, message }],
  });
}
