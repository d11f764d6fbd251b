/** The steps of jobs and attempts: each is checked by the state table, stored and published. */

import type { Context } from "../../data/context.ts";
import { Problem, type ProblemCode } from "protocol/problems.ts";
import type { Reason } from "protocol/reasons.ts";
import { TERMINAL_STATES } from "protocol/jobs/contract.ts";
import * as attempts from "./fires/store.ts";
import type { StoredAttempt } from "./fires/store.ts";
import {
  type AttemptEvent,
  attemptMachine,
  type JobEvent,
  jobMachine,
} from "protocol/jobs/states.ts";
import type { Notices } from "./notices.ts";
import * as rows from "./store.ts";
import type { StoredJob } from "./store.ts";

/** The daemon's reason for a job's state. An executor may report a reason in its own words. */
export type JobReason = Reason | ProblemCode;

/** The reason for ending an attempt whose executor may have been started without being stored. */
export const DAEMON_RESTART = "daemon_restart" satisfies JobReason;

/** True if the executor was started for the job. */
function isOwnExecutor({ executor }: Pick<StoredAttempt, "executor">): boolean {
  return executor === "spawned" || executor === "resumed";
}

/** The reason that is kept when the state changes; only `deadline_passed` is. */
export function lastingReason({ state_reason }: StoredJob): string | null {
  return state_reason === "deadline_passed" ? state_reason : null;
}

export class JobSteps {
  readonly #ctx: Context;
  readonly #notices: Notices;

  constructor(ctx: Context, notices: Notices) {
    this.#ctx = ctx;
    this.#notices = notices;
  }

  mustGet(job_id: string): StoredJob {
    const job = rows.get(this.#ctx.db, job_id);
    if (!job) throw new Problem("unknown_job", { job_id });
    return job;
  }

  create(job: StoredJob): void {
    this.#ctx.db.transact((tx) => rows.insert(tx, job));
    this.#publish(job, null);
  }

  step(job: StoredJob, event: JobEvent, change: Partial<StoredJob> = {}): StoredJob {
    return this.#ctx.db.transact(() => {
      const next = this.change(job, { ...change, state: jobMachine.step(job.state, event) });
      this.#publish(next, job);
      return next;
    });
  }

  /** Stores a change of fields without a step of the state table, such as progress or a phase. */
  change(job: StoredJob, change: Partial<StoredJob>): StoredJob {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const next = { ...job, ...change, updated_at: clock.now() };
      rows.update(tx, next);
      return next;
    });
  }

  attempt(attempt: StoredAttempt, event: AttemptEvent, change: Partial<StoredAttempt> = {}) {
    const next = { ...attempt, ...change, state: attemptMachine.step(attempt.state, event) };
    this.#ctx.db.transact((tx) => attempts.update(tx, next));
    return next;
  }

  /** The attempt in progress, if any. */
  currentAttempt({ current_attempt_id }: StoredJob): StoredAttempt | undefined {
    if (current_attempt_id === null) return undefined;
    const attempt = attempts.get(this.#ctx.db, current_attempt_id);
    return attempt?.ended_at === null ? attempt : undefined;
  }

  /** Ends an attempt. Marks an agent for release that was started for it and is not persistent. */
  endAttempt(
    attempt: StoredAttempt,
    job: StoredJob,
    { event, reason }: { event: AttemptEvent; reason: string | null },
  ): StoredAttempt {
    const keepsExecutor = job.execution.process_scope === "persistent" &&
      attempt.executor_peer_id !== null;
    const started = attempt.spawn_id !== null || reason === DAEMON_RESTART;
    const release = isOwnExecutor(attempt) && started && !keepsExecutor ? "due" as const : null;
    return this.attempt(attempt, event, { ended_at: this.#ctx.clock.now(), reason, release });
  }

  /** Ends a job with its current attempt, and notifies the peers concerned. */
  settle(
    job: StoredJob,
    event: Extract<JobEvent, "completed" | "failed" | "cancelled" | "expired" | "unavailable">,
    change: Partial<StoredJob> = {},
  ): StoredJob {
    return this.#ctx.db.transact(() => {
      const attempt = this.currentAttempt(job);
      const reason = change.state_reason ?? null;
      const attemptEvent = event === "completed" || event === "cancelled" ? event : "failed";
      if (attempt) this.endAttempt(attempt, job, { event: attemptEvent, reason });
      const rest = { current_attempt_id: null, lease_until: null, look_at: null, phase: null };
      const settled = this.step(job, event, { state_reason: null, ...change, ...rest });
      // The executor is not notified: its own turn caused the end, or `requestStop` asks it to
      // stop.
      const informed_peer_id = event === "completed" || event === "cancelled"
        ? attempt?.executor_peer_id
        : null;
      this.#notices.notifyEnd(settled, informed_peer_id ?? null);
      const cancelled_executor_id = attempt && !isOwnExecutor(attempt)
        ? attempt.executor_peer_id
        : null;
      if (settled.cancel_requested && cancelled_executor_id) {
        this.#notices.requestStop(settled, cancelled_executor_id);
      }
      return settled;
    });
  }

  isSettled({ state }: Pick<StoredJob, "state">): boolean {
    return TERMINAL_STATES.includes(state);
  }

  #publish(
    { job_id, state, phase, state_reason, ...job }: StoredJob,
    before: StoredJob | null,
  ): void {
    const attempt_id = job.current_attempt_id ?? before?.current_attempt_id ?? null;
    const prior_state = before?.state ?? null;
    const data = { job_id, state, prior_state, phase, state_reason, attempt_id };
    this.#ctx.events.append("job_state_changed", data);
  }
}
