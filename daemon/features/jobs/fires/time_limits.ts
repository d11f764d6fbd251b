/** The time limits of jobs: `expires_at`, the lease of a dispatch, and `deadline_at`. */

import type { Context } from "../../../data/context.ts";
import type { JobReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { FireDeps } from "./deps.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Turns } from "./turns.ts";

/** Maximum agents started for a job without a registration. Then the job is unavailable. */
const LEASES_MAX = 3;
const TICK_ROWS_MAX = 100;

interface TimeLimitsDeps extends FireDeps {
  readonly turns: Turns;
  readonly dispatch: Dispatch;
}

export class TimeLimits {
  readonly #ctx: Context;
  readonly #deps: TimeLimitsDeps;

  constructor(ctx: Context, deps: TimeLimitsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    for (const job of rows.expired(db, now, TICK_ROWS_MAX)) this.expire(job);
    for (const job_id of this.#deps.dispatch.leaseOver()) {
      const job = rows.get(db, job_id);
      if (job) this.#expireLease(job);
    }
    for (const job of rows.pastDeadline(db, now, TICK_ROWS_MAX)) this.#passDeadline(job);
  }

  /** Ends a job that was not delivered before `expires_at`. */
  expire(job: StoredJob): void {
    this.#ctx.db.transact(() => {
      if (this.#wasDelivered(job)) return;
      this.#deps.turns.withdrawMessage(job, "job_expired");
      const state_reason = "expires_at_passed" satisfies JobReason;
      this.#deps.steps.settle(job, "expired", { state_reason });
    });
  }

  /**
   * Handles a dispatch whose lease is over. If its message was sent after all, the job follows the
   * message; otherwise the message is withdrawn, and the job is queued again.
   */
  #expireLease(job: StoredJob): void {
    const { dispatch, turns } = this.#deps;
    const attempt = this.#deps.steps.currentAttempt(job);
    this.#ctx.db.transact(() => {
      if (!attempt || this.#wasDelivered(job)) return;
      turns.withdrawMessage(job, "lease_expired");
      const isHopeless = attempt.spawn_id !== null && attempt.number >= LEASES_MAX;
      if (isHopeless) dispatch.markUnavailable(job, "executor_never_registered");
      else dispatch.requeue(job, attempt, "lease_expired");
    });
  }

  /** Notifies one peer, once, of a passed deadline, which does not end the job (contract 2). */
  #passDeadline(job: StoredJob): void {
    const { steps, notices } = this.#deps;
    this.#ctx.db.transact(() => {
      const state_reason = "deadline_passed" satisfies JobReason;
      notices.deadlinePassed(steps.change(job, { deadline_told: true, state_reason }));
    });
  }

  /** True if the job's message was sent. One in `attempting` may arrive, so it counts. */
  #wasDelivered(job: StoredJob): boolean {
    const { delivery, steps } = this.#deps;
    const attempt = steps.currentAttempt(job);
    const state = attempt?.delivery_id && delivery.findMessage(attempt.delivery_id)?.state;
    if (!attempt || !state || state === "queued") return false;
    this.#deps.turns.applyDeliveryState(attempt, state === "attempting" ? "sent" : state);
    return true;
  }
}
