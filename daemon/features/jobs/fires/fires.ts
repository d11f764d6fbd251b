/** The runner: gives what is due to an executor, and bounds what has not reached one. */

import type { Ground } from "kit/data/context.ts";
import { type ProblemCode, refusalOf } from "kit/core/problem.ts";
import { DAEMON } from "../../messages/contract.ts";
import { ANY_PROGRAM } from "../../agents/contract.ts";
import type { Notices } from "../notices.ts";
import { DAEMON_RESTART, type JobSteps, lasting } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { FireNeeds, Start, Worker } from "./deps.ts";
import { Releases } from "./releases.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";
import { Turns } from "./turns.ts";

/** How long a dispatch may take (contract 2). */
export const LEASE_MS = 300_000;
/** When a refusal that may pass is tried again. */
const AGAIN_MS = 10_000;
/** When a job is looked at again whose executor is being ended. */
const SOON_MS = 1_000;
/** Agents started for jobs that run at once; others wait. */
export const EXECUTORS_MAX = 16;
/** Agents that were started for a job and never registered, until it is given up. */
const LEASES_MAX = 3;
const BEAT_ROWS_MAX = 100;

/** Refusals that pass with time. */
const PASSING: readonly ProblemCode[] = ["queue_full", "rate_limited"];

type Executor = StoredAttempt["executor"];

export class Fires {
  readonly #ground: Ground;
  readonly #needs: FireNeeds;
  readonly #steps: JobSteps;
  readonly #notices: Notices;
  readonly #releases: Releases;
  readonly #launching = new Set<Promise<void>>();
  readonly turns: Turns;

  constructor(
    ground: Ground,
    needs: FireNeeds,
    parts: { steps: JobSteps; notices: Notices },
  ) {
    this.#ground = ground;
    this.#needs = needs;
    this.#steps = parts.steps;
    this.#notices = parts.notices;
    this.turns = new Turns(ground, needs, parts.steps);
    this.#releases = new Releases(ground, needs, parts.steps);
    ground.events.subscribe({
      event: ({ type, data }) => {
        if (type === "spawn" && data.peer_id !== null) this.#arrived(data.spawn_id, data.peer_id);
        else if (type === "peer_registered" || type === "peer_online" || type === "peer_updated") {
          this.#awaited(data.peer_id);
        }
      },
    });
  }

  /** Begins what is due, each in a transaction of its own. */
  look(): void {
    const { db, clock } = this.#ground;
    for (const job of rows.due(db, clock.now(), BEAT_ROWS_MAX)) this.#start(job);
  }

  beat(now: number): void {
    const { db } = this.#ground;
    for (const job of rows.expired(db, now, BEAT_ROWS_MAX)) this.#expire(job);
    for (const job of rows.lapsed(db, now, BEAT_ROWS_MAX)) this.#lapse(job);
    for (const job of rows.late(db, now, BEAT_ROWS_MAX)) this.#late(job);
    for (const attempt of attempts.open(db)) this.#lookAtSpawn(attempt);
    this.turns.beat();
    this.#releases.beat();
    this.look();
  }

  /** After a start: a dispatch that was cut off begins anew, what went out is followed. */
  wakeUp(): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => rows.wakeAll(tx, clock.now()));
    this.turns.wakeUp();
    for (const attempt of attempts.open(db)) {
      if (attempt.delivery_id !== null || attempt.spawn_id !== null) continue;
      const job = rows.get(db, attempt.job_id);
      if (job?.state === "dispatching") this.#again(job, attempt, DAEMON_RESTART);
    }
  }

  /** Takes a job back: what is still queued for its executor is dropped. */
  recall(job: StoredJob, reason: string): void {
    const attempt = this.#steps.underWay(job);
    if (attempt) this.turns.withdraw(attempt, reason);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all(this.#launching);
    await this.turns.close();
    await this.#releases.close();
  }

  #start(job: StoredJob): void {
    const { db, clock } = this.#ground;
    const now = clock.now();
    // What is due between two beats may be past its end already.
    if (job.expires_at !== null && job.expires_at <= now) return this.#expire(job);
    const last = attempts.ofJob(db, job.job_id, 1)[0];
    if (last?.release === "due") return this.#wait(job, "executor_ending", now + SOON_MS);
    const { assigned_peer_id } = job.execution.target;
    if (assigned_peer_id !== null) return this.#assign(job, assigned_peer_id);
    const resumes = job.execution.continuity === "resume";
    const worked = resumes ? attempts.lastWorked(db, job) : undefined;
    if (worked?.release === "due") return this.#wait(job, "executor_ending", now + SOON_MS);
    const previous = worked?.executor_peer_id ?? undefined;
    const kept = previous === undefined ? undefined : this.#needs.peers.get(previous);
    if (kept && isHere(kept) && kept.addressable) return this.#give(job, kept.peer_id, "reused");
    if (attempts.ownExecutors(db) >= EXECUTORS_MAX) {
      return this.#wait(job, "executors_busy", now + AGAIN_MS);
    }
    db.transact(() => {
      const { job: begun, attempt } = this.#acquire(job, "spawned");
      db.afterCommit(() => this.#launch(begun, attempt, previous));
    });
  }

  #assign(job: StoredJob, peer_id: string): void {
    const worker = this.#needs.peers.get(peer_id);
    if (!worker || worker.status === "retired") return this.#giveUp(job, "peer_retired");
    if (!worker.addressable) return this.#giveUp(job, "peer_not_addressable");
    if (!isHere(worker)) return this.#wait(job, "executor_offline", null);
    this.#give(job, peer_id, "assigned");
  }

  /** Hands the job to a peer that is here, in one transaction. */
  #give(job: StoredJob, peer_id: string, executor: Executor): void {
    const { db } = this.#ground;
    this.#orRefused(job, () => {
      db.transact(() => {
        const { job: begun, attempt } = this.#acquire(job, executor);
        this.#send(begun, attempt, peer_id);
      });
    });
  }

  #acquire(job: StoredJob, executor: Executor): { job: StoredJob; attempt: StoredAttempt } {
    const { db, ids, clock } = this.#ground;
    const now = clock.now();
    const number = job.attempt_count + 1;
    const none = { executor_peer_id: null, spawn_id: null, delivery_id: null, reason: null };
    const never = { delivered_at: null, armed_at: null, ended_at: null, release: null };
    const attempt: StoredAttempt = {
      attempt_id: ids.next("attempt"),
      job_id: job.job_id,
      number,
      executor,
      state: "acquired",
      started_at: now,
      ...none,
      ...never,
    };
    db.transact((tx) => attempts.insert(tx, attempt));
    const begun = this.#steps.step(job, "acquired", {
      phase: "acquired",
      state_reason: lasting(job),
      look_at: null,
      attempt_count: number,
      current_attempt_id: attempt.attempt_id,
      lease_until: now + LEASE_MS,
    });
    return { job: begun, attempt };
  }

  /** The message is accepted for delivery in the transaction that knows its id. */
  #send(job: StoredJob, attempt: StoredAttempt, peer_id: string): void {
    const { db } = this.#ground;
    const creator = job.created_by_peer_id;
    const speaks = creator !== null && creator !== peer_id && this.#needs.peers.get(creator);
    const { delivery_id, state } = this.#needs.post.send({
      from_peer: speaks ? creator : DAEMON, // One that was closed meanwhile has no name any more.
      to_peer: peer_id,
      text: textOf(job, attempt),
      proven_human: job.proven_human,
    });
    const sent = { ...attempt, executor_peer_id: peer_id, delivery_id };
    db.transact((tx) => attempts.update(tx, sent));
    this.turns.watch(delivery_id);
    this.turns.follow(sent, state);
  }

  #launch(job: StoredJob, attempt: StoredAttempt, resumes: string | undefined): void {
    const work = this.#spawn(job, attempt, resumes)
      .catch((fault) => this.#ground.log.error("An executor could not be started", { fault }))
      .finally(() => this.#launching.delete(work));
    this.#launching.add(work);
  }

  async #spawn(job: StoredJob, attempt: StoredAttempt, resumes: string | undefined) {
    const { db } = this.#ground;
    let started;
    try {
      const { attempt_id: mark } = attempt;
      started = await this.#needs.spawns.start({ ...startOf(job), resumes, mark });
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      const still = this.#still(attempt);
      if (still) this.#giveUp(still.job, refusal.code, refusal.toBody().detail);
      return;
    }
    const entered = db.transact((tx) => {
      const still = this.#still(attempt);
      if (!still) return false; // It was called off meanwhile, or its lease is over.
      const spawn_id = started.enter();
      const executor = started.resumed ? "resumed" as const : "spawned" as const;
      const now = { ...still.attempt, spawn_id, executor };
      attempts.update(tx, now);
      this.#lookAtSpawn(now);
      return true;
    });
    if (!entered) await started.undo();
  }

  /** A job that still waits for this very attempt. */
  #still({ attempt_id, job_id }: StoredAttempt) {
    const { db } = this.#ground;
    const attempt = attempts.get(db, attempt_id), job = rows.get(db, job_id);
    const waits = attempt?.state === "acquired" && job?.current_attempt_id === attempt_id;
    return waits ? { attempt, job } : undefined;
  }

  #arrived(spawn_id: string, peer_id: string): void {
    const attempt = attempts.bySpawn(this.#ground.db, spawn_id);
    if (attempt) this.#handTo(attempt, peer_id);
  }

  /** Whom we have started: here by now, or never to come. */
  #lookAtSpawn(attempt: StoredAttempt): void {
    if (attempt.spawn_id === null || attempt.delivery_id !== null) return;
    const { peer_id, over } = this.#needs.spawns.look(attempt.spawn_id);
    if (peer_id !== null) return this.#handTo(attempt, peer_id);
    const still = over && this.#still(attempt);
    if (still) this.#giveUp(still.job, "executor_never_registered");
  }

  #handTo(attempt: StoredAttempt, peer_id: string): void {
    const still = this.#still(attempt);
    if (!still || still.attempt.delivery_id !== null) return;
    this.#orRefused(still.job, () => {
      this.#ground.db.transact(() => this.#send(still.job, still.attempt, peer_id));
    });
  }

  /** A peer is here, or has changed: what waited for it is looked at. */
  #awaited(peer_id: string): void {
    const { db, clock } = this.#ground;
    if (!rows.isAwaited(db, peer_id)) return;
    db.transact((tx) => {
      rows.wake(tx, peer_id, clock.now());
      db.afterCommit(() => this.look());
    });
  }

  #orRefused(job: StoredJob, work: () => void): void {
    try {
      work();
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      const passing = PASSING.includes(refusal.code);
      if (passing && job.state === "dispatching") return; // The next beat tries again.
      if (passing) return this.#wait(job, refusal.code, this.#ground.clock.now() + AGAIN_MS);
      this.#giveUp(job, refusal.code, refusal.toBody().detail);
    }
  }

  #giveUp(job: StoredJob, state_reason: string, error: string | null = null): void {
    this.#steps.settle(job, "unavailable", { state_reason, error });
  }

  /** Not now; nothing is written where nothing has changed. */
  #wait(job: StoredJob, state_reason: string, look_at: number | null): void {
    this.#ground.db.transact(() => {
      this.#steps.change(job, { state_reason: lasting(job) ?? state_reason, look_at });
    });
  }

  #expire(job: StoredJob): void {
    this.#ground.db.transact(() => {
      if (this.#wentOut(job)) return;
      this.recall(job, "job_expired");
      this.#steps.settle(job, "expired", { state_reason: "expires_at_passed" });
    });
  }

  /** The lease is over: what went out all the same is delivered, what did not is taken back. */
  #lapse(job: StoredJob): void {
    const attempt = this.#steps.underWay(job);
    this.#ground.db.transact(() => {
      if (!attempt || this.#wentOut(job)) return;
      this.recall(job, "lease_expired");
      const never = attempt.spawn_id !== null && attempt.number >= LEASES_MAX;
      if (never) this.#giveUp(job, "executor_never_registered");
      else this.#again(job, attempt, "lease_expired");
    });
  }

  /** Bytes that are on their way may arrive: such a fire counts as delivered. */
  #wentOut(job: StoredJob): boolean {
    const attempt = this.#steps.underWay(job);
    const state = attempt?.delivery_id && this.#needs.post.stateOf(attempt.delivery_id);
    if (!attempt || !state || state === "queued") return false;
    this.turns.follow(attempt, state === "attempting" ? "sent" : state);
    return true;
  }

  #again(job: StoredJob, attempt: StoredAttempt, reason: string): void {
    const { db, clock } = this.#ground;
    db.transact(() => {
      this.#steps.over(attempt, job, { on: "lease_expired", reason });
      this.#steps.step(job, "lease_expired", {
        phase: null,
        state_reason: lasting(job) ?? reason,
        look_at: clock.now(),
        current_attempt_id: null,
        lease_until: null,
      });
    });
  }

  #late(job: StoredJob): void {
    this.#ground.db.transact(() => {
      const told = { deadline_told: true, state_reason: "deadline_passed" };
      this.#notices.late(this.#steps.change(job, told));
    });
  }
}

function isHere({ status }: Worker): boolean {
  return status === "online" || status === "busy";
}

function startOf(job: StoredJob): Omit<Start, "resumes" | "mark"> {
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
function textOf({ job_id, execution }: StoredJob, { attempt_id }: StoredAttempt): string {
  return `${execution.prompt.body}\n\n[job ${job_id}, ${attempt_id}] The final message of your ` +
    "turn is taken as the result. If the work goes on after this turn, say so before it ends, " +
    `with the mesh tool job_update(job_id, attempt_id, phase="waiting"); in a shell: ` +
    `mesh jobs update ${job_id} --attempt ${attempt_id} --phase waiting`;
}
