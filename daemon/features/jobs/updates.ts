/** `PATCH /jobs/{id}`: applies what an executor or a person reports about a job. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { JobUpdate } from "protocol/jobs/contract.ts";
import { TURN_STARTED, type Turns } from "./fires/turns.ts";
import { illegalState } from "./job_fields.ts";
import { type JobEvent, jobMachine, type JobState } from "protocol/jobs/states.ts";
import * as rows from "./store.ts";
import type { StoredJob } from "./store.ts";
import { type JobSteps, lastingReason } from "./transitions.ts";

/** Maximum progress events of a job. Older events are dropped. */
const PROGRESS_EVENTS_MAX = 100;

/** The events of the states that keep a job open. */
const EVENTS = {
  running: "turn_started",
  awaiting_input: "needs_input",
  blocked: "stuck",
} as const satisfies Partial<Record<JobState, JobEvent>>;

export class JobUpdates {
  readonly #ctx: Context;
  readonly #steps: JobSteps;
  readonly #turns: Turns;
  /** The jobs with reports since the last tick. */
  readonly #reported = new Set<string>();

  constructor(ctx: Context, steps: JobSteps, turns: Turns) {
    this.#ctx = ctx;
    this.#steps = steps;
    this.#turns = turns;
  }

  /** Applies an update. Throws `illegal_state` if the job is in a terminal state. */
  apply(job_id: string, update: JobUpdate): StoredJob {
    return this.#ctx.db.transact(() => {
      const job = this.#steps.mustGet(job_id);
      if (this.#steps.isSettled(job)) throw illegalState(job, "update");
      this.#checkAttempt(job, update);
      this.#ctx.db.afterCommit(() => this.#reported.add(job_id));
      return this.#applyState(this.#withFields(job, update), update);
    });
  }

  /** Publishes, once a second, the jobs with new reports: progress must not flood the log. */
  tick(): void {
    if (this.#reported.size === 0) return;
    const { db, events } = this.#ctx;
    const reported = [...this.#reported];
    this.#reported.clear();
    db.transact(() => {
      for (const job_id of reported) {
        const job = rows.get(db, job_id);
        if (!job) continue;
        const { state, progress } = job;
        events.append("job_updated", { job_id, state, progress });
      }
    });
  }

  #checkAttempt(job: StoredJob, { attempt_id, state }: JobUpdate): void {
    const { job_id } = job;
    const attempt = this.#steps.currentAttempt(job);
    if (attempt_id !== undefined && attempt_id !== attempt?.attempt_id) {
      throw new Problem("stale_attempt", { job_id, attempt_id });
    }
    if (isEnding(state) && attempt && attempt_id === undefined) {
      throw new Problem("attempt_id_required", { job_id });
    }
  }

  #withFields(job: StoredJob, update: JobUpdate): StoredJob {
    const { phase, progress, progress_note: note } = update;
    const changesState = update.state !== undefined && update.state !== job.state;
    const change: Partial<StoredJob> = {
      ...(changesState && { state_reason: lastingReason(job) }),
      ...(phase !== undefined && { phase }),
      ...(update.state_reason !== undefined && { state_reason: update.state_reason }),
      ...(progress !== undefined && { progress }),
      ...(update.result_summary !== undefined && { result_summary: update.result_summary }),
      ...(update.result_data !== undefined && { result_data: update.result_data }),
      ...(update.error !== undefined && { error: update.error }),
      ...(update.artifacts !== undefined && { artifacts: update.artifacts }),
    };
    if (phase !== undefined || progress !== undefined || note !== undefined) {
      const at = this.#ctx.clock.now();
      const event = { at, phase: phase ?? null, progress: progress ?? null, note: note ?? null };
      change.progress_events = [...job.progress_events, event].slice(-PROGRESS_EVENTS_MAX);
    }
    return { ...job, ...change };
  }

  /** Stores the updated fields, then takes the step of the reported state or phase. */
  #applyState(job: StoredJob, { state, phase, ...update }: JobUpdate): StoredJob {
    const state_reason = update.state_reason ?? null;
    const written = this.#steps.change(this.#steps.mustGet(job.job_id), job);
    if (isEnding(state)) {
      if (!jobMachine.accepts(job.state, state)) throw illegalState(job, "update");
      this.#turns.withdrawMessage(job, "job_updated");
      if (state === "completed") return this.#turns.complete(written, { state_reason });
      return this.#steps.settle(written, state, { state_reason });
    }
    const phaseEvent = phase === TURN_STARTED ? "turn_started" as const : undefined;
    const on: JobEvent | undefined = state === undefined ? phaseEvent : EVENTS[state];
    if (on === undefined) return written;
    if (!jobMachine.accepts(job.state, on)) throw illegalState(job, "update");
    const attempt = this.#steps.currentAttempt(written);
    if (on !== "turn_started") return this.#steps.step(written, on);
    const started = attempt ? this.#turns.startTurn(written, attempt) : written;
    return started.state === "running" ? started : this.#steps.step(started, on);
  }
}

function isEnding(state: JobUpdate["state"]): state is "completed" | "failed" | "cancelled" {
  return state === "completed" || state === "failed" || state === "cancelled";
}
