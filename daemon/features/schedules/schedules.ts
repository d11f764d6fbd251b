/** The desk of scheduled messages: what is said later, and what came of it. */

import type { Ground } from "kit/data/context.ts";
import { isProblem, Problem, refusalOf, saidOf } from "kit/core/problem.ts";
import { shownName } from "kit/core/text.ts";
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
import type { Stored } from "./store.ts";
import { faultOf, instantOf, type When } from "./when.ts";

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
export interface Message {
  readonly from_peer: string;
  readonly to_peer: string;
  readonly text: string;
  readonly circle?: string;
}

/** How a request came in. */
export interface Manner {
  readonly proven_human: boolean;
  readonly traceparent?: string | undefined;
}

export interface ScheduleNeeds {
  readonly directory: {
    sender(argument: string, scope?: { circle?: string | undefined }): Sender;
    resolve(argument: string, scope: { circle?: string | undefined; caller: Sender }): Address;
    /** A peer by its exact id, however it fares. */
    address(peer_id: string): Address | undefined;
  };
  /** Opens an ask, or sends a note, as any other; its id. Refuses with a problem. */
  readonly desks: Readonly<Record<Schedule["kind"], (said: Message, manner: Manner) => string>>;
  /** The daemon tells a peer something. */
  tell(to_peer: string, text: string): void;
  /** How long a schedule is kept that has come to its end. */
  readonly history_ms: number;
}

/** How a fire went. */
type Fired = Pick<Stored, "last_outcome" | "last_error" | "last_message_id">;

type Timing = Pick<Stored, "fire_at" | "cron" | "timezone" | "next_fire_at">;

export class Schedules {
  readonly #ground: Ground;
  readonly #needs: ScheduleNeeds;

  constructor(ground: Ground, needs: ScheduleNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  create(body: CreateSchedule, manner: Manner): Schedule {
    const { db, clock } = this.#ground;
    const now = clock.now();
    return db.transact((tx) => {
      const { from_peer, to_peer, text, kind } = body;
      const from = this.#needs.directory.sender(from_peer, { circle: body.circle });
      // The human belongs to no circle, and finds a name in all of them.
      const circle = body.circle ?? (from.role === "human" ? null : from.circle);
      this.#mustBeRecipient(to_peer, circle, from);
      const timing = timingOf(body, now);
      if (rows.activeCount(db) >= ACTIVE_MAX) {
        throw new Problem("schedules_full", { active_max: ACTIVE_MAX });
      }
      const schedule: Stored = {
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
        proven_human: from.role === "human" && manner.proven_human,
        traceparent: manner.traceparent ?? null,
        created_at: now,
        settled_at: null,
      };
      rows.insert(tx, schedule);
      return schedule;
    });
  }

  /** Changes what is active. Words that the human did not prove are not the human's any more. */
  edit(schedule_id: string, patch: EditSchedule, manner: Manner): Schedule {
    const { db, clock } = this.#ground;
    return db.transact((tx) => {
      const before = this.#mustBeActive(schedule_id, "edited");
      const { to_peer = before.to_peer, text = before.text, kind = before.kind } = patch;
      if (patch.to_peer !== undefined) {
        const sender = this.#needs.directory.sender(senderOf(before));
        this.#mustBeRecipient(to_peer, before.circle, sender);
      }
      const schedule: Stored = {
        ...before,
        to_peer,
        text,
        kind,
        ...retimed(before, patch, clock.now()),
        state: scheduleMachine.step(before.state, "edited"),
        proven_human: before.proven_human && manner.proven_human,
      };
      rows.update(tx, schedule);
      return schedule;
    });
  }

  cancel(schedule_id: string): Schedule {
    const { db, clock } = this.#ground;
    return db.transact((tx) => {
      const found = this.mustGet(schedule_id);
      if (found.state === "cancelled") return found;
      const before = this.#mustBeActive(schedule_id, "cancelled");
      const state = scheduleMachine.step(before.state, "cancelled");
      const schedule: Stored = { ...before, state, next_fire_at: null, settled_at: clock.now() };
      rows.update(tx, schedule);
      return schedule;
    });
  }

  get(schedule_id: string): Stored | undefined {
    return rows.get(this.#ground.db, schedule_id);
  }

  mustGet(schedule_id: string): Stored {
    const schedule = this.get(schedule_id);
    if (!schedule) throw new Problem("unknown_schedule", { schedule_id });
    return schedule;
  }

  list({ state, from_peer, to_peer, circle, limit }: ScheduleFilter): Schedule[] {
    return rows.list(this.#ground.db, {
      state: state ?? null,
      circle: circle ?? null,
      limit,
      from: from_peer === undefined ? null : this.#named(from_peer),
      to: to_peer === undefined ? null : this.#named(to_peer),
    });
  }

  /** Fires what is due, and forgets what came to its end long ago. */
  beat(now: number): void {
    const { db } = this.#ground;
    for (const due of rows.due(db, now, FIRES_MAX)) this.#fire(due, now);
    const old = rows.settledBefore(db, now - this.#needs.history_ms, FORGET_ROWS_MAX);
    if (old.length > 0) db.transact((tx) => old.forEach((id) => rows.forget(tx, id)));
  }

  /** The message and the record of its fire are one transaction: neither is without the other. */
  #fire(due: Stored, now: number): void {
    const { db, log } = this.#ground;
    try {
      return db.transact(() => {
        const last_message_id = this.#send(due);
        this.#record(due, now, { last_outcome: "fired", last_error: null, last_message_id });
      });
    } catch (fault) {
      if (isProblem(fault, "storage_failed")) throw fault;
      if (fault instanceof Problem) return this.#fail(due, now, fault);
      log.error("A scheduled message failed", { fault, schedule_id: due.schedule_id });
      db.transact((tx) => rows.update(tx, { ...due, next_fire_at: now + RETRY_MS }));
    }
  }

  #send({ kind, to_peer, text, circle, ...due }: Stored): string {
    const known = due.from_peer_id && this.#needs.directory.address(due.from_peer_id);
    const from_peer = known && !known.closed ? known.peer_id : due.from_peer;
    const { proven_human, traceparent } = due;
    // Each fire of a recurring one is a trace of its own.
    const trace = traceparent !== null && due.cron === null ? { traceparent } : {};
    const message = { from_peer, to_peer, text, ...(circle !== null && { circle }) };
    return this.#needs.desks[kind](message, { proven_human, ...trace });
  }

  #fail(due: Stored, now: number, problem: Problem): void {
    const { db } = this.#ground;
    const last_error = saidOf(problem.code);
    db.transact(() => {
      const failed = { last_outcome: "failed" as const, last_error, last_message_id: null };
      this.#record(due, now, failed);
    });
    if (due.cron === null && due.from_peer_id !== null) {
      this.#tell(due, due.from_peer_id, problem);
    }
  }

  /** However many fires were missed, one stands for them: the next is after now. */
  #record(due: Stored, now: number, fired: Fired): void {
    const { db, events } = this.#ground;
    const next_fire_at = due.cron === null
      ? null
      : nextFire(due.cron, due.timezone ?? TIMEZONE, now) ?? null;
    const on = next_fire_at === null ? fired.last_outcome ?? "failed" : "recurred";
    const state = scheduleMachine.step(due.state, on);
    const settled_at = scheduleMachine.isFinal(state) ? now : null;
    db.transact((tx) =>
      rows.update(tx, { ...due, ...fired, state, next_fire_at, settled_at, last_fired_at: now })
    );
    const { schedule_id, kind, from_peer_id, from_peer_name: from, to_peer: to } = due;
    events.append("schedule_fired", {
      schedule_id,
      kind,
      state,
      from_peer_id,
      from,
      to,
      outcome: fired.last_outcome ?? "failed",
      error: fired.last_error,
      message_id: fired.last_message_id,
    });
  }

  /** The sender of a one-shot is told that it failed. One that is gone cannot be told. */
  #tell({ schedule_id, kind, to_peer }: Stored, from_peer_id: string, problem: Problem): void {
    const { db, log } = this.#ground;
    const { error, detail } = problem.toBody();
    const text =
      `Your scheduled ${kind} to "${shownName(to_peer)}" (${schedule_id}) was not sent: ` +
      `${detail} (${error}). See it with: mesh schedule show ${schedule_id}`;
    try {
      db.transact(() => this.#needs.tell(from_peer_id, text));
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      log.debug("A sender could not be told", { peer_id: from_peer_id, code: refusal.code });
    }
  }

  /** Whom a fire would be for, were it now. One that takes no messages may take some then. */
  #mustBeRecipient(to_peer: string, circle: string | null, caller: Sender): void {
    const scope = { caller, ...(circle !== null && { circle }) };
    const { peer_id, status, closed } = this.#needs.directory.resolve(to_peer, scope);
    if (status === "retired" || closed) throw new Problem("peer_retired", { peer_id });
    if (caller.peer_id === peer_id) throw new Problem("to_self", { peer_id });
  }

  #mustBeActive(schedule_id: string, on: ScheduleEvent): Stored {
    const found = this.mustGet(schedule_id);
    if (scheduleMachine.takes(found.state, on)) return found;
    throw new Problem("schedule_settled", { schedule_id, state: found.state });
  }

  #newId(): string {
    const { db, ids } = this.#ground;
    let schedule_id = ids.next("sched");
    while (rows.get(db, schedule_id)) schedule_id = ids.next("sched");
    return schedule_id;
  }

  /** Schedules outlive their peers, so that a filter may name anyone. */
  #named(said: string): rows.Named {
    const { directory } = this.#needs;
    try {
      const { peer_id, name } = directory.resolve(said, { caller: NOBODY });
      return { said, peer_id, name };
    } catch (fault) {
      if (fault instanceof Problem) return { said, peer_id: said, name: said };
      throw fault;
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

function senderOf({ from_peer, from_peer_id }: Stored): string {
  return from_peer_id ?? from_peer;
}

/** When it fires first, and by which clock. */
function timingOf({ fire_at, cron, timezone }: Asked, now: number): Timing {
  if (fire_at !== undefined) {
    const at = instantOf(fire_at, now);
    const fault = faultOf(at, now);
    if (fault) throw unfit("fire_at", fault);
    return { fire_at: at, cron: null, timezone: timezone ?? null, next_fire_at: at };
  }
  const clock = timezone ?? TIMEZONE;
  const next_fire_at = cron === undefined ? undefined : nextFire(cron, clock, now);
  if (cron === undefined || next_fire_at === undefined) throw unfit("cron", "It never fires");
  return { fire_at: null, cron, timezone: clock, next_fire_at };
}

interface Asked {
  readonly fire_at?: When | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
}

/** The timing after a change; as it was where nothing of it changed. */
function retimed(before: Stored, { fire_at, cron, timezone }: Asked, now: number): Timing {
  const clock = timezone ?? before.timezone ?? undefined;
  if (fire_at !== undefined) return timingOf({ fire_at, timezone }, now);
  if (cron !== undefined) return timingOf({ cron, timezone: clock }, now);
  if (timezone !== undefined && before.cron !== null) {
    return timingOf({ cron: before.cron, timezone }, now);
  }
  const { fire_at: at, cron: pattern, next_fire_at } = before;
  return { fire_at: at, cron: pattern, timezone: clock ?? null, next_fire_at };
}

function unfit(path: string, message: string): Problem<"invalid_request"> {
  return new Problem("invalid_request", {
    summary: `${path}: ${message}`,
    issues: [{ path, message }],
  });
}
