/** Turns of executors. A seen prompt arms a fire, and the next assistant turn completes it. */

import { stopwatch } from "kit/core/clock.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Context } from "../../../data/context.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import { endOfTurn, type TurnEvidence } from "../../peers/turn_end.ts";
import { LIMITED } from "../../limits/deps.ts";
import { type JobReason, lastingReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import { CHECKING, startChecks } from "./checks.ts";
import type { FireDeps } from "./deps.ts";
import * as templates from "../template_store.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

/** The phase in which the next assistant turn completes a fire. */
export const TURN_STARTED = "turn_started";
/** Time after a start in which an executor without process, pane or session may reconnect. */
export const RECONNECT_GRACE_MS = 30_000;
/** Maximum time for which an idle executor may leave a fire unread if its template is due. */
const UNREAD_MS = 60_000;
/** Phases that the daemon sets. Any other was reported by the executor, and holds the fire open. */
const AUTOMATIC_PHASES: readonly (string | null)[] = [null, "acquired", "delivered", TURN_STARTED];

export class Turns {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  /** The deliveries of fires in progress. Steps of others are ignored without a query. */
  readonly #followedDeliveries: RollbackMap<string, true>;
  /** Attempts that were delivered when the daemon started. Their executors may not come back. */
  readonly #unreconciled = new Set<string>();
  #sinceStart: () => number = () => 0;

  constructor(ctx: Context, deps: FireDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#followedDeliveries = new RollbackMap(ctx.db);
  }

  watchDelivery(delivery_id: string): void {
    this.#followedDeliveries.set(delivery_id, true);
  }

  /** Drops the attempt's message if it is still queued, and ignores its delivery from now on. */
  #withdraw({ delivery_id }: StoredAttempt, reason: JobReason): void {
    if (delivery_id === null) return;
    this.#followedDeliveries.delete(delivery_id);
    this.#deps.delivery.release(delivery_id, reason);
  }

  /** Drops the job's message, if it is still queued for the executor. */
  withdrawMessage(job: StoredJob, reason: JobReason): void {
    const attempt = this.#deps.steps.currentAttempt(job);
    if (attempt) this.#withdraw(attempt, reason);
  }

  /** Called when a delivery takes a step, inside the delivery's transaction. */
  stepped(delivery_id: string, state: DeliveryState): void {
    if (!this.#followedDeliveries.has(delivery_id)) return;
    const attempt = attempts.byDelivery(this.#ctx.db, delivery_id);
    if (!attempt) return void this.#followedDeliveries.delete(delivery_id);
    this.applyDeliveryState(attempt, state);
  }

  /** Applies a state of its message to a fire: delivered, seen, or failed. */
  applyDeliveryState(attempt: StoredAttempt, state: DeliveryState): void {
    const job = rows.get(this.#ctx.db, attempt.job_id);
    if (!job) return;
    if (state === "sent" || state === "accepted") this.#delivered(job, attempt);
    else if (state === "seen") this.startTurn(job, attempt);
    else if (state === "failed" || state === "expired" || state === "dropped") {
      const wasDelivered = attempt.state !== "acquired";
      if (attempt.state === "running") return;
      this.#deps.steps.settle(job, wasDelivered ? "failed" : "unavailable", {
        state_reason: "delivery_failed" satisfies JobReason,
        error: "The executor did not receive the message",
      });
    }
  }

  /**
   * Called when a prompt of this peer contains these delivery ids or attempt ids. The steps of the
   * delivery report most prompts, but not the prompt of a message that was queued again or deleted.
   */
  promptSeen(peer_id: string, ids: readonly string[]): void {
    const { db } = this.#ctx;
    if (ids.length === 0) return;
    for (const attempt of attempts.openOf(db, peer_id)) {
      const { delivery_id, attempt_id, state } = attempt;
      const isNamed = ids.includes(delivery_id ?? "") || ids.includes(attempt_id);
      const job = isNamed ? rows.get(db, attempt.job_id) : undefined;
      if (job && (state !== "running" || isHeld(job))) this.startTurn(job, attempt);
    }
  }

  /** Called when a message has an executor go on: its prompt begins the turn of the fire. */
  goOnBy(peer_id: string, delivery_id: string): void {
    const { db } = this.#ctx;
    for (const attempt of attempts.openOf(db, peer_id)) {
      const job = rows.get(db, attempt.job_id);
      if (!job || !isHeld(job)) continue;
      db.transact((tx) => attempts.update(tx, { ...attempt, delivery_id }));
      this.watchDelivery(delivery_id);
    }
  }

  /** Called when an executor goes on by itself with what a limit cut off. */
  goOn(peer_id: string): void {
    const { db } = this.#ctx;
    for (const attempt of attempts.openOf(db, peer_id)) {
      const job = rows.get(db, attempt.job_id);
      if (job && isHeld(job)) this.startTurn(job, attempt);
    }
  }

  /** Arms a fire, because the executor's prompt turn was observed (specification 3). */
  startTurn(job: StoredJob, attempt: StoredAttempt): StoredJob {
    const { db, clock } = this.#ctx;
    return db.transact(() => {
      const now = clock.now();
      if (attempt.state === "running") {
        // The executor continues the job in a turn that begins now.
        db.transact((tx) => attempts.update(tx, { ...attempt, armed_at: now }));
      } else {
        const delivered_at = attempt.delivered_at ?? now;
        this.#deps.steps.attempt(attempt, "turn_started", { delivered_at, armed_at: now });
      }
      const phase = AUTOMATIC_PHASES.includes(job.phase) ? TURN_STARTED : job.phase;
      if (job.state !== "dispatching" && job.state !== "delivered" && !isHeld(job)) {
        // The job's state holds the fire open. Once the state is `running` again, the next turn
        // completes the fire.
        return job.phase === phase ? job : this.#deps.steps.change(job, { phase });
      }
      return this.#deps.steps.step(job, "turn_started", {
        phase,
        lease_until: null,
        state_reason: lastingReason(job),
        error: isHeld(job) ? null : job.error,
      });
    });
  }

  /** Called with evidence of the ends of this peer's turns. */
  turnEvidence(peer_id: string, evidence: TurnEvidence): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) this.#weigh(attempt, peer_id, evidence);
    });
  }

  /** Ends a fire whose turn has ended, unless its executor or its checks hold it open. */
  #weigh(attempt: StoredAttempt, peer_id: string, evidence: TurnEvidence): void {
    const { db } = this.#ctx;
    const { executors, notices, steps } = this.#deps;
    const { state, armed_at, delivery_id, attempt_id } = attempt;
    const job = state === "running" ? rows.get(db, attempt.job_id) : undefined;
    if (job?.state !== "running" || job.phase !== TURN_STARTED) return;
    const ids = [attempt_id, ...(delivery_id === null ? [] : [delivery_id])];
    const end = endOfTurn({ begun_at: armed_at ?? 0, ids }, evidence);
    if (!end) return;
    const { how, text } = end;
    if (how === "completed") return void this.complete(job, { result_summary: text ?? "" });
    // A process that has ended may be replaced by a restart, which the tick knows.
    if (how === "killed" && executors.hasProcess(peer_id)) return;
    if (how === "killed") return this.#fail(attempt, "executor_died");
    if (how === "failed" && this.#deps.limits.isLimited(peer_id)) {
      return void steps.step(job, "stuck", { state_reason: LIMITED, error: text ?? null });
    }
    if (how === "failed") {
      const error = `An error ended the executor's turn: ${text}`;
      const state_reason = "turn_failed" satisfies JobReason;
      return void steps.settle(job, "failed", { state_reason, error });
    }
    const reason = how === "interrupted" ? "turn_interrupted" : "turn_end_unseen";
    if (job.execution.on_interrupt === "fail") return this.#fail(attempt, reason);
    const waiting = { state_reason: reason, error: ERRORS[reason] };
    notices.notifyInterruption(steps.step(job, "needs_input", waiting));
  }

  /** Completes a job. If the job has checks, they run first. */
  complete(job: StoredJob, change: Partial<StoredJob>): StoredJob {
    const { db } = this.#ctx;
    if (job.execution.checks.length === 0 || !this.#deps.steps.currentAttempt(job)) {
      return this.#deps.steps.settle(job, "completed", change);
    }
    return db.transact(() => {
      const waiting = this.#deps.steps.change(job, { ...change, phase: CHECKING });
      db.afterCommit(() => startChecks(this.#ctx, this.#deps, waiting));
      return waiting;
    });
  }

  /** Fails the fires of an executor that is gone for good (specification 3). */
  executorDied(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) this.#fail(attempt, "executor_died");
    });
  }

  /** Called when an executor is no longer addressable. Its undelivered jobs become unavailable. */
  unreachable(peer_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      for (const attempt of attempts.openOf(db, peer_id)) {
        const job = rows.get(db, attempt.job_id);
        if (job?.state !== "dispatching") continue;
        const state_reason = "peer_not_addressable" satisfies JobReason;
        this.#deps.steps.settle(job, "unavailable", { state_reason });
      }
    });
  }

  /** Called after a start. Moves fires on with their messages, and reruns interrupted checks. */
  start(): void {
    const { db, clock } = this.#ctx;
    this.#sinceStart = stopwatch(clock);
    for (const attempt of attempts.open(db)) {
      const { delivery_id, attempt_id } = attempt;
      if (delivery_id === null) continue;
      this.#followedDeliveries.set(delivery_id, true);
      const state = this.#deps.delivery.findMessage(delivery_id)?.state;
      if (state) this.applyDeliveryState(attempt, state);
      const now = attempts.get(db, attempt_id)?.state;
      if (now === "running" || now === "delivered") this.#unreconciled.add(attempt_id);
    }
    for (const job of rows.inChecks(db)) {
      db.afterCommit(() => startChecks(this.#ctx, this.#deps, job));
    }
  }

  /** Called once a second. Fails the fires of dead executors and of turns that ended unnoticed. */
  tick(): void {
    const { db, clock } = this.#ctx;
    const reconciles = this.#unreconciled.size > 0 &&
      this.#sinceStart() >= RECONNECT_GRACE_MS;
    const { executors } = this.#deps;
    for (const attempt of attempts.open(db)) {
      const { executor_peer_id, attempt_id } = attempt;
      if (executor_peer_id === null) continue;
      const lost = reconciles && this.#unreconciled.has(attempt_id) &&
        executors.isUntraceable(executor_peer_id);
      if (lost || executors.isDead(executor_peer_id)) this.#fail(attempt, "executor_died");
      else {
        const idle = executors.idleSince(executor_peer_id);
        this.#weigh(attempt, executor_peer_id, { now: clock.now(), ends: [], idle });
        if (idle && this.#isLeftUnread(attempt, idle.at)) this.#fail(attempt, "turn_not_started");
      }
    }
    // An executor that goes offline later may come back.
    if (reconciles) this.#unreconciled.clear();
  }

  /** True if an idle executor has left a fire unread, which blocks its due template forever. */
  #isLeftUnread({ state, delivered_at, job_id }: StoredAttempt, idle_since: number): boolean {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    if (state !== "delivered" || now - Math.max(delivered_at ?? now, idle_since) < UNREAD_MS) {
      return false;
    }
    const template = templates.get(db, rows.get(db, job_id)?.source_id ?? "");
    return template?.state === "active" && (template.next_due_at ?? now + 1) <= now;
  }

  #delivered(job: StoredJob, attempt: StoredAttempt): void {
    if (attempt.state !== "acquired") return;
    const { db, clock } = this.#ctx;
    db.transact(() => {
      this.#deps.steps.attempt(attempt, "delivered", { delivered_at: clock.now() });
      if (job.state !== "dispatching") return;
      const phase = AUTOMATIC_PHASES.includes(job.phase) ? "delivered" : job.phase;
      this.#deps.steps.step(job, "delivered", { phase, lease_until: null });
    });
  }

  /** Fails a fire, unless its job's checks run: then the turn is over, and the checks decide. */
  #fail(attempt: StoredAttempt, state_reason: keyof typeof ERRORS): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const job = rows.get(db, attempt.job_id);
      if (!job || this.#deps.steps.isSettled(job) || job.phase === CHECKING) return;
      if (attempt.state === "acquired") this.#withdraw(attempt, state_reason);
      this.#deps.steps.settle(job, "failed", { state_reason, error: ERRORS[state_reason] });
    });
  }
}

/** True for a job whose turn was cut off by a limit. */
function isHeld({ state, state_reason }: StoredJob): boolean {
  return state === "blocked" && state_reason === LIMITED;
}

const ERRORS = {
  executor_died: "The executor ended before its turn did",
  turn_end_unseen: "The turn ended, and nothing shows with what result",
  turn_interrupted: "The executor's turn was interrupted",
  turn_not_started: "The executor is idle and has not read the message",
} as const satisfies Partial<Record<JobReason, string>>;
