/** Gives a job to an executor: begins an attempt and sends the prompt, or records why not. */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../../data/context.ts";
import { type ProblemCode, recoverableProblem } from "protocol/problems.ts";
import { type JobReason, lastingReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { FireDeps } from "./deps.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";
import type { Turns } from "./turns.ts";

/** Maximum time of a dispatch (contract 2). */
export const LEASE_MS = 300_000;
/** Time for which a job waits after a temporary refusal, or while no executor is free. */
export const RETRY_MS = 10_000;

const TEMPORARY_REFUSALS: readonly ProblemCode[] = ["queue_full", "rate_limited"];

export class Dispatch {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  readonly #turns: Turns;
  readonly #leases: Ages;

  constructor(ctx: Context, deps: FireDeps, turns: Turns) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#turns = turns;
    this.#leases = new Ages(ctx.clock);
  }

  /** Hands the job to a peer that is online, in one transaction. */
  deliverTo(job: StoredJob, peer_id: string, executor: StoredAttempt["executor"]): void {
    this.#handleRefusal(job, () => {
      const acquired = this.acquire(job, executor);
      this.#sendPrompt(acquired.job, acquired.attempt, peer_id);
    });
  }

  /** Hands the job of an attempt to the agent that was started for it. */
  deliverToSpawned(job: StoredJob, attempt: StoredAttempt, peer_id: string): void {
    this.#handleRefusal(job, () => this.#sendPrompt(job, attempt, peer_id));
  }

  /** Begins an attempt with a lease. */
  acquire(
    job: StoredJob,
    executor: StoredAttempt["executor"],
  ): { job: StoredJob; attempt: StoredAttempt } {
    const { db, ids, clock } = this.#ctx;
    const now = clock.now();
    this.#leases.of(job.job_id, now);
    const number = job.attempt_count + 1;
    const attempt: StoredAttempt = {
      attempt_id: ids.next("attempt"),
      job_id: job.job_id,
      number,
      executor,
      state: "acquired",
      executor_peer_id: null,
      spawn_id: null,
      delivery_id: null,
      reason: null,
      started_at: now,
      delivered_at: null,
      armed_at: null,
      ended_at: null,
      release: null,
    };
    return db.transact((tx) => {
      attempts.insert(tx, attempt);
      const acquired = this.#deps.steps.step(job, "acquired", {
        phase: "acquired",
        state_reason: lastingReason(job),
        look_at: null,
        attempt_count: number,
        current_attempt_id: attempt.attempt_id,
        lease_until: now + LEASE_MS,
      });
      return { job: acquired, attempt };
    });
  }

  /** The jobs whose lease has expired. */
  leaseOver(): string[] {
    return rows.leases(this.#ctx.db).filter(({ job_id, lease_until }) =>
      this.#leases.of(job_id, lease_until - LEASE_MS) >= LEASE_MS
    ).map(({ job_id }) => job_id);
  }

  /** Ends an attempt that reached no executor, and queues its job again. */
  requeue(job: StoredJob, attempt: StoredAttempt, reason: JobReason): void {
    const { db, clock } = this.#ctx;
    db.transact(() => {
      this.#deps.steps.endAttempt(attempt, job, { event: "lease_expired", reason });
      this.#deps.steps.step(job, "lease_expired", {
        phase: null,
        state_reason: lastingReason(job) ?? reason,
        look_at: clock.now(),
        current_attempt_id: null,
        lease_until: null,
      });
    });
  }

  /** Leaves a job queued until `look_at`; if that is null, until its executor is online. */
  postpone(job: StoredJob, reason: JobReason, look_at: number | null): void {
    this.#deps.steps.change(job, { state_reason: lastingReason(job) ?? reason, look_at });
  }

  markUnavailable(job: StoredJob, state_reason: JobReason, error: string | null = null): void {
    this.#deps.steps.settle(job, "unavailable", { state_reason, error });
  }

  /** Sends the prompt, and stores the id of its delivery in the same transaction. */
  #sendPrompt(job: StoredJob, attempt: StoredAttempt, peer_id: string): void {
    const { created_by_peer_id: creator, proven_human, unverified } = job;
    // A creator that was closed in the meantime cannot be a sender.
    const canSendAsCreator = creator !== null && creator !== peer_id &&
      this.#deps.executors.get(creator);
    const { notifications } = this.#deps;
    // The prompt must begin a turn, because the prompt hook arms the fire.
    const text = promptOf(job, attempt), urgent = false, caused_by = job.job_id;
    const more = { urgent, unverified, caused_by };
    const { ticket: { message } } = canSendAsCreator
      ? notifications.notify(
        { from_peer: creator, to_peer: peer_id, text, urgent },
        { proven_human, unverified, caused_by },
      )
      : notifications.notifyFromDaemon(peer_id, text, { ...more, notice: false });
    const { delivery_id, state } = message;
    const sent = { ...attempt, executor_peer_id: peer_id, delivery_id };
    this.#ctx.db.transact((tx) => attempts.update(tx, sent));
    this.#turns.watchDelivery(delivery_id);
    this.#turns.applyDeliveryState(sent, state);
  }

  #handleRefusal(job: StoredJob, work: () => void): void {
    const { db, clock } = this.#ctx;
    try {
      db.transact(work);
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const isTemporary = TEMPORARY_REFUSALS.includes(refusal.code);
      if (isTemporary && job.state === "dispatching") return; // The next tick tries again.
      if (isTemporary) return this.postpone(job, refusal.code, clock.now() + RETRY_MS);
      this.markUnavailable(job, refusal.code, refusal.toBody().detail);
    }
  }
}

/** The text that the executor reads: the job's prompt, and how to report on the job. */
function promptOf({ job_id, execution }: StoredJob, { attempt_id }: StoredAttempt): string {
  return `${execution.prompt.body}\n\n[job ${job_id}, ${attempt_id}] The final message of your ` +
    "turn is taken as the result. If the work goes on after this turn, say so before it ends, " +
    `with the mesh tool job_update(job_id, attempt_id, phase="waiting"); in a shell: ` +
    `mesh jobs update ${job_id} --attempt ${attempt_id} --phase waiting`;
}
