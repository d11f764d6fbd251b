/** Creates, edits, cancels and lists scheduled messages, and deletes old ones. */

import type { Context } from "../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import {
  ACTIVE_MAX,
  type CreateSchedule,
  type EditSchedule,
  type Schedule,
  type ScheduleFilter,
} from "protocol/schedules/contract.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Sender } from "../peers/directory.ts";
import { mustBeRecipient, type ScheduleDeps, ScheduleFires } from "./fires.ts";
import { type ScheduleEvent, scheduleMachine } from "protocol/schedules/states.ts";
import * as rows from "./store.ts";
import type { StoredSchedule } from "./store.ts";
import { timingOf, updatedTiming } from "./timing.ts";

/** Maximum schedules deleted per tick, so that a tick stays short. */
const FORGET_ROWS_MAX = 200;

export class Schedules {
  readonly #ctx: Context;
  readonly #deps: ScheduleDeps;
  readonly #fires: ScheduleFires;

  constructor(ctx: Context, deps: ScheduleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#fires = new ScheduleFires(ctx, deps);
  }

  create(body: CreateSchedule, requestContext: RequestContext): Schedule {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    return db.transact((tx) => {
      const { from_peer, to_peer, text, kind, digest = false } = body;
      const { directory } = this.#deps;
      const from = directory.sender(from_peer, { circle: body.circle });
      const circle = body.circle ?? (from.role === "human" ? null : from.circle);
      const circle_given = body.circle !== undefined;
      mustBeRecipient(directory, to_peer, { circle, circle_given, caller: from, digest });
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
        digest,
        circle,
        circle_given,
        ...timing,
        state: "active",
        last_fired_at: null,
        last_outcome: null,
        last_error: null,
        last_message_id: null,
        proven_human: from.role === "human" && requestContext.proven_human,
        unverified: requestContext.unverified ?? false,
        traceparent: requestContext.traceparent ?? null,
        created_at: now,
        settled_at: null,
      };
      rows.insert(tx, schedule);
      this.#deps.budgets.include(tx, schedule.schedule_id, from, requestContext, "schedule");
      return this.#publishChange(schedule);
    });
  }

  /**
   * Edits an active schedule. The human's schedule loses its proven human origin through an edit
   * without one. A peer's schedule becomes unverified through an edit that is not proved to be the
   * peer's.
   */
  edit(schedule_id: string, patch: EditSchedule, requestContext: RequestContext): Schedule {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.#mustBeActive(schedule_id, "edited");
      const { to_peer = before.to_peer, text = before.text, kind = before.kind } = patch;
      if (patch.to_peer !== undefined) {
        const { directory } = this.#deps;
        const sender = directory.sender(before.from_peer_id ?? before.from_peer);
        mustBeRecipient(directory, to_peer, { ...before, caller: sender });
      }
      const schedule: StoredSchedule = {
        ...before,
        to_peer,
        text,
        kind,
        ...updatedTiming(before, patch, clock.now()),
        state: scheduleMachine.step(before.state, "edited"),
        proven_human: before.proven_human && requestContext.proven_human,
        unverified: before.unverified || (requestContext.unverified ?? false),
      };
      rows.update(tx, schedule);
      const { from_peer_id: peer_id, from_peer_name: name } = before;
      const editor = { peer_id, name };
      this.#deps.budgets.include(tx, schedule_id, editor, requestContext, "schedule");
      return this.#publishChange(schedule);
    });
  }

  cancel(schedule_id: string): Schedule {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const found = this.mustGet(schedule_id);
      if (found.state === "cancelled") return found;
      const before = this.#mustBeActive(schedule_id, "cancelled");
      const state = scheduleMachine.step(before.state, "cancelled");
      const schedule = { ...before, state, next_fire_at: null, settled_at: clock.now() };
      rows.update(tx, schedule);
      return this.#publishChange(schedule);
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

  tick(now: number): void {
    const { db } = this.#ctx;
    this.#fires.tick(now);
    const old = rows.settledBefore(db, now - this.#deps.history_ms, FORGET_ROWS_MAX);
    if (old.length > 0) db.transact((tx) => old.forEach((id) => rows.remove(tx, id)));
  }

  /** Publishes that a schedule was created, edited or cancelled. */
  #publishChange(schedule: StoredSchedule): Schedule {
    const { schedule_id, state } = schedule;
    this.#ctx.events.append("schedule_changed", { schedule_id, state });
    return schedule;
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

  /** Resolves a peer in a filter, registered or not, because schedules outlive their peers. */
  #toPeerMatch(argument: string): rows.PeerMatch {
    const { directory } = this.#deps;
    try {
      const { peer_id, name } = directory.resolveAnywhere(argument, { caller: ANY_CIRCLE_CALLER });
      return { argument, peer_id, name };
    } catch (error) {
      if (error instanceof Refusal) return { argument, peer_id: argument, name: argument };
      throw error;
    }
  }
}

/** Resolves a filter's peer names. It has no circle, so names are looked up in all circles. */
const ANY_CIRCLE_CALLER: Sender = {
  peer_id: null,
  name: "nobody",
  circle: null,
  role: null,
  mesh_session_id: null,
};
