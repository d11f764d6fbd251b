/** The runner: gives what is due to an executor, and bounds what has not reached one. */

import type { Context } from "kit/data/context.ts";
import { type ProblemCode, recoverableProblem } from "kit/core/problem.ts";
import { DAEMON } from "../../messages/contract.ts";
import { ANY_PROGRAM } from "../../agents/contract.ts";
import type { Notices } from "../notices.ts";
import { DAEMON_RESTART, type JobSteps, lastingReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { ExecutorPeer, FireDeps, StartRequest } from "./deps.ts";
import { Releases } from "./releases.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";
import { Turns } from "./turns.ts";

/** How long a dispatch may take (contract 2). */
export const LEASE_MS = 300_000;
/** When a refusal that may pass is tried again. */
const RETRY_MS = 10_000;
/** When a job is looked at again whose executor is being ended. */
const RELEASE_WAIT_MS = 1_000;
/** Agents started for jobs that run at once; others wait. */
export const EXECUTORS_MAX = 16;
/** Agents that were started for a job and never registered, until it is given up. */
const LEASES_MAX = 3;
const TICK_ROWS_MAX = 100;

/** Refusals that pass with time. */
const TEMPORARY_REFUSALS: readonly ProblemCode[] = ["queue_full", "rate_limited"];

type ExecutorKind = StoredAttempt["executor"];

export class Fires {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  readonly #steps: JobSteps;
  readonly #notices: Notices;
  readonly #releases: Releases;
  readonly #launches = new Set<Promise<void>>();
  readonly turns: Turns;

  constructor(
    ctx: Context,
    deps: FireDeps,
    parts: { steps: JobSteps; notices: Notices },
  ) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#steps = parts.steps;
    this.#notices = parts.notices;
    this.turns = new Turns(ctx, deps, parts.steps);
    this.#releases = new Releases(ctx, deps, parts.steps);
    ctx.events.subscribe({
      event: ({ type, data }) => {
        if (type === "spawn" && data.peer_id !== null) {
          this.#executorRegistered(data.spawn_id, data.peer_id);
        } else if (
          type === "peer_registered" || type === "peer_online" || type === "peer_updated"
        ) {
          this.#assigneeSeen(data.peer_id);
        }
      },
    });
  }

  /** Begins what is due, each in a transaction of its own. */
  startDue(): void {
    const { db, clock } = this.#ctx;
    for (const job of rows.due(db, clock.now(), TICK_ROWS_MAX)) this.#start(job);
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    for (const job of rows.expired(db, now, TICK_ROWS_MAX)) this.#expire(job);
    for (const job of rows.leaseExpired(db, now, TICK_ROWS_MAX)) this.#expireLease(job);
    for (const job of rows.pastDeadline(db, now, TICK_ROWS_MAX)) this.#passDeadline(job);
    for (const attempt of attempts.open(db)) this.#checkSpawn(attempt);
    this.turns.tick();
    this.#releases.tick();
    this.startDue();
  }

  /** After a start: a dispatch that was cut off begins anew, what went out is followed. */
  start(): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => rows.wakeAll(tx, clock.now()));
    this.turns.start();
    for (const attempt of attempts.open(db)) {
      if (attempt.delivery_id !== null || attempt.spawn_id !== null) continue;
      const job = rows.get(db, attempt.job_id);
      if (job?.state === "dispatching") this.#requeue(job, attempt, DAEMON_RESTART);
    }
  }

  /** Takes a job back: what is still queued for its executor is dropped. */
  withdraw(job: StoredJob, reason: string): void {
    const attempt = this.#steps.currentAttempt(job);
    if (attempt) this.turns.withdraw(attempt, reason);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all(this.#launches);
    await this.turns.close();
    await this.#releases.close();
  }

  #start(job: StoredJob): void {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    // What is due between two beats may be past its end already.
    if (job.expires_at !== null && job.expires_at <= now) return this.#expire(job);
    const last = attempts.ofJob(db, job.job_id, 1)[0];
    if (last?.release === "due") {
      return this.#postpone(job, "executor_ending", now + RELEASE_WAIT_MS);
    }
    const { assigned_peer_id } = job.execution.target;
    if (assigned_peer_id !== null) return this.#assign(job, assigned_peer_id);
    const resumes = job.execution.continuity === "resume";
    const lastWorked = resumes ? attempts.lastWorked(db, job) : undefined;
    if (lastWorked?.release === "due") {
      return this.#postpone(job, "executor_ending", now + RELEASE_WAIT_MS);
    }
    const previous = lastWorked?.executor_peer_id ?? undefined;
    const previousPeer = previous === undefined ? undefined : this.#deps.peers.get(previous);
    if (previousPeer && isOnline(previousPeer) && previousPeer.addressable) {
      return this.#deliverTo(job, previousPeer.peer_id, "reused");
    }
    if (attempts.ownExecutors(db) >= EXECUTORS_MAX) {
      return this.#postpone(job, "executors_busy", now + RETRY_MS);
    }
    db.transact(() => {
      const { job: acquiredJob, attempt } = this.#acquire(job, "spawned");
      db.afterCommit(() => this.#launch(acquiredJob, attempt, previous));
    });
  }

  #assign(job: StoredJob, peer_id: string): void {
    const executorPeer = this.#deps.peers.get(peer_id);
    if (!executorPeer || executorPeer.status === "retired") {
      return this.#markUnavailable(job, "peer_retired");
    }
    if (!executorPeer.addressable) return this.#markUnavailable(job, "peer_not_addressable");
    if (!isOnline(executorPeer)) return this.#postpone(job, "executor_offline", null);
    this.#deliverTo(job, peer_id, "assigned");
  }

  /** Hands the job to a peer that is here, in one transaction. */
  #deliverTo(job: StoredJob, peer_id: string, executor: ExecutorKind): void {
    const { db } = this.#ctx;
    this.#handleRefusal(job, () => {
      db.transact(() => {
        const { job: acquiredJob, attempt } = this.#acquire(job, executor);
        this.#sendPrompt(acquiredJob, attempt, peer_id);
      });
    });
  }

  #acquire(job: StoredJob, executor: ExecutorKind): { job: StoredJob; attempt: StoredAttempt } {
    const { db, ids, clock } = this.#ctx;
    const now = clock.now();
    const number = job.attempt_count + 1;
    const noReferences = {
      executor_peer_id: null,
      spawn_id: null,
      delivery_id: null,
      reason: null,
    };
    const noTimes = { delivered_at: null, armed_at: null, ended_at: null, release: null };
    const attempt: StoredAttempt = {
      attempt_id: ids.next("attempt"),
      job_id: job.job_id,
      number,
      executor,
      state: "acquired",
      started_at: now,
      ...noReferences,
      ...noTimes,
    };
    db.transact((tx) => attempts.insert(tx, attempt));
    const acquiredJob = this.#steps.step(job, "acquired", {
      phase: "acquired",
      state_reason: lastingReason(job),
      look_at: null,
      attempt_count: number,
      current_attempt_id: attempt.attempt_id,
      lease_until: now + LEASE_MS,
    });
    return { job: acquiredJob, attempt };
  }

  /** The message is accepted for delivery in the transaction that knows its id. */
  #sendPrompt(job: StoredJob, attempt: StoredAttempt, peer_id: string): void {
    const { db } = this.#ctx;
    const creator = job.created_by_peer_id;
    const canSendAsCreator = creator !== null && creator !== peer_id &&
      this.#deps.peers.get(creator);
    const { delivery_id, state } = this.#deps.delivery.send({
      from_peer: canSendAsCreator ? creator : DAEMON, // One that was closed meanwhile has no name any more.
      to_peer: peer_id,
      text: promptOf(job, attempt),
      proven_human: job.proven_human,
    });
    const sent = { ...attempt, executor_peer_id: peer_id, delivery_id };
    db.transact((tx) => attempts.update(tx, sent));
    this.turns.watchDelivery(delivery_id);
    this.turns.applyDeliveryState(sent, state);
  }

  #launch(job: StoredJob, attempt: StoredAttempt, resumes: string | undefined): void {
    const work = this.#spawn(job, attempt, resumes)
      .catch((error) => this.#ctx.log.error("An executor could not be started", { error }))
      .finally(() => this.#launches.delete(work));
    this.#launches.add(work);
  }

  async #spawn(job: StoredJob, attempt: StoredAttempt, resumes: string | undefined) {
    const { db } = this.#ctx;
    let started;
    try {
      const { attempt_id: mark } = attempt;
      started = await this.#deps.spawns.startExecutor({ ...startRequestOf(job), resumes, mark });
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const current = this.#findCurrent(attempt);
      if (current) this.#markUnavailable(current.job, refusal.code, refusal.toBody().detail);
      return;
    }
    const recorded = db.transact((tx) => {
      const current = this.#findCurrent(attempt);
      if (!current) return false; // It was called off meanwhile, or its lease is over.
      const spawn_id = started.record();
      const executor = started.resumed ? "resumed" as const : "spawned" as const;
      const now = { ...current.attempt, spawn_id, executor };
      attempts.update(tx, now);
      this.#checkSpawn(now);
      return true;
    });
    if (!recorded) await started.undo();
  }

  /** A job that still waits for this very attempt. */
  #findCurrent({ attempt_id, job_id }: StoredAttempt) {
    const { db } = this.#ctx;
    const attempt = attempts.get(db, attempt_id), job = rows.get(db, job_id);
    const waits = attempt?.state === "acquired" && job?.current_attempt_id === attempt_id;
    return waits ? { attempt, job } : undefined;
  }

  #executorRegistered(spawn_id: string, peer_id: string): void {
    const attempt = attempts.bySpawn(this.#ctx.db, spawn_id);
    if (attempt) this.#deliverToSpawned(attempt, peer_id);
  }

  /** Whom we have started: here by now, or never to come. */
  #checkSpawn(attempt: StoredAttempt): void {
    if (attempt.spawn_id === null || attempt.delivery_id !== null) return;
    const { peer_id, over } = this.#deps.spawns.status(attempt.spawn_id);
    if (peer_id !== null) return this.#deliverToSpawned(attempt, peer_id);
    const current = over && this.#findCurrent(attempt);
    if (current) this.#markUnavailable(current.job, "executor_never_registered");
  }

  #deliverToSpawned(attempt: StoredAttempt, peer_id: string): void {
    const current = this.#findCurrent(attempt);
    if (!current || current.attempt.delivery_id !== null) return;
    this.#handleRefusal(current.job, () => {
      this.#ctx.db.transact(() => this.#sendPrompt(current.job, current.attempt, peer_id));
    });
  }

  /** A peer is here, or has changed: what waited for it is looked at. */
  #assigneeSeen(peer_id: string): void {
    const { db, clock } = this.#ctx;
    if (!rows.hasWaitingJob(db, peer_id)) return;
    db.transact((tx) => {
      rows.wake(tx, peer_id, clock.now());
      db.afterCommit(() => this.startDue());
    });
  }

  #handleRefusal(job: StoredJob, work: () => void): void {
    try {
      work();
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const isTemporary = TEMPORARY_REFUSALS.includes(refusal.code);
      if (isTemporary && job.state === "dispatching") return; // The next beat tries again.
      if (isTemporary) return this.#postpone(job, refusal.code, this.#ctx.clock.now() + RETRY_MS);
      this.#markUnavailable(job, refusal.code, refusal.toBody().detail);
    }
  }

  #markUnavailable(job: StoredJob, state_reason: string, error: string | null = null): void {
    this.#steps.settle(job, "unavailable", { state_reason, error });
  }

  /** Not now; nothing is written where nothing has changed. */
  #postpone(job: StoredJob, state_reason: string, look_at: number | null): void {
    this.#ctx.db.transact(() => {
      this.#steps.change(job, { state_reason: lastingReason(job) ?? state_reason, look_at });
    });
  }

  #expire(job: StoredJob): void {
    this.#ctx.db.transact(() => {
      if (this.#wasDelivered(job)) return;
      this.withdraw(job, "job_expired");
      this.#steps.settle(job, "expired", { state_reason: "expires_at_passed" });
    });
  }

  /** The lease is over: what went out all the same is delivered, what did not is taken back. */
  #expireLease(job: StoredJob): void {
    const attempt = this.#steps.currentAttempt(job);
    this.#ctx.db.transact(() => {
      if (!attempt || this.#wasDelivered(job)) return;
      this.withdraw(job, "lease_expired");
      const neverRegistered = attempt.spawn_id !== null && attempt.number >= LEASES_MAX;
      if (neverRegistered) this.#markUnavailable(job, "executor_never_registered");
      else this.#requeue(job, attempt, "lease_expired");
    });
  }

  /** Bytes that are on their way may arrive: such a fire counts as delivered. */
  #wasDelivered(job: StoredJob): boolean {
    const attempt = this.#steps.currentAttempt(job);
    const state = attempt?.delivery_id && this.#deps.delivery.stateOf(attempt.delivery_id);
    if (!attempt || !state || state === "queued") return false;
    this.turns.applyDeliveryState(attempt, state === "attempting" ? "sent" : state);
    return true;
  }

  #requeue(job: StoredJob, attempt: StoredAttempt, reason: string): void {
    const { db, clock } = this.#ctx;
    db.transact(() => {
      this.#steps.endAttempt(attempt, job, { event: "lease_expired", reason });
      this.#steps.step(job, "lease_expired", {
        phase: null,
        state_reason: lastingReason(job) ?? reason,
        look_at: clock.now(),
        current_attempt_id: null,
        lease_until: null,
      });
    });
  }

  #passDeadline(job: StoredJob): void {
    this.#ctx.db.transact(() => {
      const change = { deadline_told: true, state_reason: "deadline_passed" };
      this.#notices.deadlinePassed(this.#steps.change(job, change));
    });
  }
}

function isOnline({ status }: ExecutorPeer): boolean {
  return status === "online" || status === "busy";
}

function startRequestOf(job: StoredJob): Omit<StartRequest, "resumes" | "mark"> {
  const { path, backend, profile } = job.execution.target;
  return {
    path: path ?? "",
    backend: backend ?? ANY_PROGRAM,
    ...(profile !== null && { profile }),
    circle: job.circle,
    from_peer: job.created_by_peer_id ?? DAEMON,
  };
}

/** What the executor reads: the prompt, and how to speak of the job. */
function promptOf({ job_id, execution }: StoredJob, { attempt_id }: StoredAttempt): string {
  return `${execution.prompt.body}\n\n[job ${job_id}, ${attempt_id}] The final message of your ` +
    "turn is taken as the result. If the work goes on after this turn, say so before it ends, " +
    `with the mesh tool job_update(job_id, attempt_id, phase="waiting"); in a shell: ` +
    `mesh jobs update ${job_id} --attempt ${attempt_id} --phase waiting`;
}
