/** Every step of every job and attempt: checked against the machine, written, told. */

import type { Ground } from "kit/data/context.ts";
import { TERMINAL } from "./contract.ts";
import * as attempts from "./fires/store.ts";
import type { StoredAttempt } from "./fires/store.ts";
import { type AttemptEvent, attemptMachine, type JobEvent, jobMachine } from "./machine.ts";
import type { Notices } from "./notices.ts";
import * as rows from "./store.ts";
import type { StoredJob } from "./store.ts";

/** Why an attempt is over whose executor may have been started, and not written down. */
export const DAEMON_RESTART = "daemon_restart";

/** Executors that were started for a job, and are nobody else's. */
export function isOwn({ executor }: Pick<StoredAttempt, "executor">): boolean {
  return executor === "spawned" || executor === "resumed";
}

/** Why a job waits, or is blocked, passes; that its deadline has passed does not. */
export function lasting({ state_reason }: StoredJob): string | null {
  return state_reason === "deadline_passed" ? state_reason : null;
}

export class JobSteps {
  readonly #ground: Ground;
  readonly #notices: Notices;

  constructor(ground: Ground, notices: Notices) {
    this.#ground = ground;
    this.#notices = notices;
  }

  born(job: StoredJob): void {
    this.#ground.db.transact((tx) => rows.insert(tx, job));
    this.#say(job, null);
  }

  step(job: StoredJob, on: JobEvent, change: Partial<StoredJob> = {}): StoredJob {
    return this.#ground.db.transact(() => {
      const next = this.change(job, { ...change, state: jobMachine.step(job.state, on) });
      this.#say(next, job);
      return next;
    });
  }

  /** What is not a step of its own: progress, a reason to wait, a phase. */
  change(job: StoredJob, change: Partial<StoredJob>): StoredJob {
    const { db, clock } = this.#ground;
    return db.transact((tx) => {
      const next = { ...job, ...change, updated_at: clock.now() };
      rows.update(tx, next);
      return next;
    });
  }

  attempt(attempt: StoredAttempt, on: AttemptEvent, change: Partial<StoredAttempt> = {}) {
    const next = { ...attempt, ...change, state: attemptMachine.step(attempt.state, on) };
    this.#ground.db.transact((tx) => attempts.update(tx, next));
    return next;
  }

  /** The attempt that is under way; undefined when none is. */
  underWay({ current_attempt_id }: StoredJob): StoredAttempt | undefined {
    if (current_attempt_id === null) return undefined;
    const attempt = attempts.get(this.#ground.db, current_attempt_id);
    return attempt?.ended_at === null ? attempt : undefined;
  }

  /** Ends an attempt. An executor of its own is to be ended with it, unless it is to stay. */
  over(
    attempt: StoredAttempt,
    job: StoredJob,
    { on, reason }: { on: AttemptEvent; reason: string | null },
  ): StoredAttempt {
    const stays = job.execution.process_scope === "persistent" &&
      attempt.executor_peer_id !== null;
    const started = attempt.spawn_id !== null || reason === DAEMON_RESTART;
    const release = isOwn(attempt) && started && !stays ? "due" as const : null;
    return this.attempt(attempt, on, { ended_at: this.#ground.clock.now(), reason, release });
  }

  /** Ends a job, with the attempt that is under way, and tells whom it concerns. */
  settle(
    job: StoredJob,
    on: Extract<JobEvent, "completed" | "failed" | "cancelled" | "expired" | "unavailable">,
    change: Partial<StoredJob> = {},
  ): StoredJob {
    return this.#ground.db.transact(() => {
      const attempt = this.underWay(job);
      const reason = change.state_reason ?? null;
      const how = on === "completed" || on === "cancelled" ? on : "failed";
      if (attempt) this.over(attempt, job, { on: how, reason });
      const rest = { current_attempt_id: null, lease_until: null, look_at: null, phase: null };
      const settled = this.step(job, on, { state_reason: null, ...change, ...rest });
      // Its own turn was the end, or it is told to stop; of any other end it knows nothing.
      const knows = on === "completed" || on === "cancelled" ? attempt?.executor_peer_id : null;
      this.#notices.settled(settled, knows ?? null);
      const worker = attempt && !isOwn(attempt) ? attempt.executor_peer_id : null;
      if (settled.cancel_requested && worker) this.#notices.cancelled(settled, worker);
      return settled;
    });
  }

  isSettled({ state }: Pick<StoredJob, "state">): boolean {
    return TERMINAL.includes(state);
  }

  #say({ job_id, state, phase, state_reason, ...job }: StoredJob, before: StoredJob | null): void {
    const attempt_id = job.current_attempt_id ?? before?.current_attempt_id ?? null;
    const prior_state = before?.state ?? null;
    const said = { job_id, state, prior_state, phase, state_reason, attempt_id };
    this.#ground.events.append("job_state_changed", said);
  }
}
