/** What executors do: a prompt that was seen arms a fire, the next assistant turn completes it. */

import type { Context } from "kit/data/context.ts";
import { type JobSteps, lastingReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import { runChecks } from "./checks.ts";
import type { FireDeps, State } from "./deps.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

/** The phase in which the next assistant turn completes a fire. */
export const TURN_STARTED = "turn_started";
/** The turn is over, and the job's checks run. */
const CHECKING = "checking";
/** After a start, how long executors have to come back that nothing but their own word tells of. */
export const RECONNECT_GRACE_MS = 30_000;
/** Phases that we set; any other was set to hold the fire open. */
const AUTOMATIC_PHASES: readonly (string | null)[] = [null, "acquired", "delivered", TURN_STARTED];

export class Turns {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  readonly #steps: JobSteps;
  /** Messages of fires that are under way, so that no other message costs a look. */
  readonly #watchedDeliveries = new Set<string>();
  /** Armed when the daemon started: their turns may have ended while nobody heard it. */
  readonly #maybeEnded = new Set<string>();
  /** Out when the daemon started, and not yet known to have an executor. */
  readonly #unreconciled = new Set<string>();
  readonly #runningChecks = new Set<Promise<void>>();
  #started_at = 0;

  constructor(ctx: Context, deps: FireDeps, steps: JobSteps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#steps = steps;
  }

  watchDelivery(delivery_id: string): void {
    this.#watchedDeliveries.add(delivery_id);
  }

  /** Takes back what is still queued; what becomes of the message is the fire's no more. */
  withdraw({ delivery_id }: StoredAttempt, reason: string): void {
    if (delivery_id === null) return;
    this.#watchedDeliveries.delete(delivery_id);
    this.#deps.delivery.withdraw(delivery_id, reason);
  }

  /** A step of a delivery, inside of its own transaction. */
  stepped(delivery_id: string, state: State): void {
    if (!this.#watchedDeliveries.has(delivery_id)) return;
    const attempt = attempts.byDelivery(this.#ctx.db, delivery_id);
    if (!attempt) return void this.#watchedDeliveries.delete(delivery_id);
    this.applyDeliveryState(attempt, state);
  }

  /** Lets a fire follow its message: out, seen, or refused by its receiver. */
  applyDeliveryState(attempt: StoredAttempt, state: State): void {
    const job = rows.get(this.#ctx.db, attempt.job_id);
    if (!job) return;
    if (state === "sent" || state === "accepted") this.#delivered(job, attempt);
    else if (state === "seen") this.startTurn(job, attempt);
    else if (state === "failed" || state === "expired" || state === "dropped") {
      const wasDelivered = attempt.state !== "acquired";
      if (attempt.state === "running") return;
      this.#steps.settle(job, wasDelivered ? "failed" : "unavailable", {
        state_reason: "delivery_failed",
        error: "The executor did not take the message",
      });
    }
  }

  /**
   * Messages, or attempts, that a prompt of this peer names. The delivery tells of most itself; not
   * of one that the ledger has queued again, or has long forgotten.
   */
  promptSeen(peer_id: string, ids: readonly string[]): void {
    const { db } = this.#ctx;
    if (ids.length === 0) return;
    for (const attempt of attempts.openOf(db, peer_id)) {
      const { delivery_id, attempt_id, state } = attempt;
      const isNamed = ids.includes(delivery_id ?? "") || ids.includes(attempt_id);
      if (state === "running" || !isNamed) continue;
      const job = rows.get(db, attempt.job_id);
      if (job) this.startTurn(job, attempt);
    }
  }

  /** The executor's prompt turn was observed: the fire is armed (specification 3). */
  startTurn(job: StoredJob, attempt: StoredAttempt): StoredJob {
    const { db, clock } = this.#ctx;
    return db.transact(() => {
      const now = clock.now();
      if (attempt.state !== "running") {
        const delivered_at = attempt.delivered_at ?? now;
        this.#steps.attempt(attempt, "turn_started", { delivered_at, armed_at: now });
      }
      const phase = AUTOMATIC_PHASES.includes(job.phase) ? TURN_STARTED : job.phase;
      if (job.state !== "dispatching" && job.state !== "delivered") {
        // Its state holds it; once that is running again, its next turn is to complete it.
        return job.phase === phase ? job : this.#steps.change(job, { phase });
      }
      return this.#steps.step(job, "turn_started", {
        phase,
        lease_until: null,
        state_reason: lastingReason(job),
      });
    });
  }

  /** A turn of this peer has ended: the fires that it armed are complete, but those held open. */
  finalMessageSeen(peer_id: string, last_message: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) {
        const job = rows.get(db, attempt.job_id);
        if (!job || attempt.state !== "running") continue;
        if (job.state !== "running" || job.phase !== TURN_STARTED) continue;
        this.complete(job, { result_summary: last_message });
      }
    });
  }

  /** Completes a job, once its checks have passed where it has any. */
  complete(job: StoredJob, change: Partial<StoredJob>): StoredJob {
    const { db } = this.#ctx;
    if (job.execution.checks.length === 0 || !this.#steps.currentAttempt(job)) {
      return this.#steps.settle(job, "completed", change);
    }
    return db.transact(() => {
      const waiting = this.#steps.change(job, { ...change, phase: CHECKING });
      db.afterCommit(() => this.#startChecks(waiting));
      return waiting;
    });
  }

  /** An executor is gone for good: what it was at fails (specification 3). */
  executorDied(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) this.#fail(attempt, "executor_died");
    });
  }

  /** It takes no messages any more: what has not reached it will not. */
  unreachable(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) {
        const job = rows.get(db, attempt.job_id);
        if (job?.state !== "dispatching") continue;
        this.#steps.settle(job, "unavailable", { state_reason: "peer_not_addressable" });
      }
    });
  }

  /** After a start: fires follow what their messages have come to, and checks run again. */
  start(): void {
    const { db, clock } = this.#ctx;
    this.#started_at = clock.now();
    for (const attempt of attempts.open(db)) {
      const { delivery_id, attempt_id } = attempt;
      if (delivery_id === null) continue;
      this.#watchedDeliveries.add(delivery_id);
      const state = this.#deps.delivery.stateOf(delivery_id);
      if (state) this.applyDeliveryState(attempt, state);
      const now = attempts.get(db, attempt_id)?.state;
      if (now === "running") this.#maybeEnded.add(attempt_id);
      if (now === "running" || now === "delivered") this.#unreconciled.add(attempt_id);
    }
    for (const job of rows.inChecks(db)) db.afterCommit(() => this.#startChecks(job));
  }

  /** Once a second: who has died, and whose turn has ended while nobody heard it. */
  tick(): void {
    const { db, clock } = this.#ctx;
    const reconciles = this.#unreconciled.size > 0 &&
      clock.now() - this.#started_at >= RECONNECT_GRACE_MS;
    const { isDead, isUntraceable } = this.#deps.peers;
    for (const attempt of attempts.open(db)) {
      const { executor_peer_id, attempt_id } = attempt;
      if (executor_peer_id === null) continue;
      const lost = reconciles && this.#unreconciled.has(attempt_id) &&
        isUntraceable(executor_peer_id);
      if (lost || isDead(executor_peer_id)) this.#fail(attempt, "executor_died");
      else if (this.#maybeEnded.has(attempt_id) && this.#isIdle(executor_peer_id)) {
        this.#fail(attempt, "turn_end_unseen");
      }
    }
    if (reconciles) this.#unreconciled.clear(); // Once a start: whoever leaves later may come back.
  }

  /** Waits for the checks that run. */
  async close(): Promise<void> {
    await Promise.all(this.#runningChecks);
  }

  #isIdle(peer_id: string): boolean {
    const { status, turn_state, turn_at } = this.#deps.peers.get(peer_id) ?? {};
    const isOnline = status === "online" || status === "busy";
    return isOnline && turn_state === "idle" && (turn_at ?? 0) >= this.#started_at;
  }

  #delivered(job: StoredJob, attempt: StoredAttempt): void {
    if (attempt.state !== "acquired") return;
    const { db, clock } = this.#ctx;
    db.transact(() => {
      this.#steps.attempt(attempt, "delivered", { delivered_at: clock.now() });
      if (job.state !== "dispatching") return;
      const phase = AUTOMATIC_PHASES.includes(job.phase) ? "delivered" : job.phase;
      this.#steps.step(job, "delivered", { phase, lease_until: null });
    });
  }

  /** A turn that is over cannot die any more: its checks decide. One that is held can. */
  #fail(attempt: StoredAttempt, state_reason: "executor_died" | "turn_end_unseen"): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const job = rows.get(db, attempt.job_id);
      if (!job || this.#steps.isSettled(job) || job.phase === CHECKING) return;
      const isHeldByExecutor = job.state !== "running" || job.phase !== TURN_STARTED;
      if (state_reason === "turn_end_unseen" && isHeldByExecutor) return;
      this.#maybeEnded.delete(attempt.attempt_id);
      if (attempt.state === "acquired") this.withdraw(attempt, state_reason);
      this.#steps.settle(job, "failed", { state_reason, error: ERRORS[state_reason] });
    });
  }

  #startChecks(job: StoredJob): void {
    const work = this.#runChecks(job)
      .catch((error) => this.#ctx.log.error("The checks of a job failed to run", { error }))
      .finally(() => this.#runningChecks.delete(work));
    this.#runningChecks.add(work);
  }

  async #runChecks({ job_id, current_attempt_id, execution }: StoredJob): Promise<void> {
    const { db } = this.#ctx;
    const attempt = current_attempt_id ? attempts.get(db, current_attempt_id) : undefined;
    const executorPeer = attempt?.executor_peer_id
      ? this.#deps.peers.get(attempt.executor_peer_id)
      : undefined;
    const path = execution.target.path ?? executorPeer?.path ?? null;
    const outcomes = await runChecks(execution.checks, path, this.#deps);
    db.transact(() => {
      const job = rows.get(db, job_id);
      if (job?.phase !== CHECKING || job.current_attempt_id !== current_attempt_id) return;
      const result_data = { ...job.result_data, checks: outcomes };
      const failed = outcomes.find(({ exit }) => exit !== 0);
      if (!failed) return void this.#steps.settle(job, "completed", { result_data });
      this.#steps.settle(job, "failed", {
        result_data,
        state_reason: "check_failed",
        error: `The check "${failed.name}" failed: ` +
          (failed.exit ?? "it did not run or did not end; its output says why"),
      });
    });
  }
}

const ERRORS = {
  executor_died: "The executor is gone, and its turn did not end",
  turn_end_unseen: "Its turn ended while the daemon was away, so that its result is not known",
} as const;
