/** Executors that are started for one job: launches, awaits and ends their agents. */

import type { Context } from "../../../data/context.ts";
import { recoverableProblem } from "protocol/problems.ts";
import { ANY_PROGRAM } from "protocol/agents/contract.ts";
import type { StartedExecutor, StartRequest } from "../executors.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { FireDeps } from "./deps.ts";
import type { Dispatch } from "./dispatch.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

export class SpawnedExecutors {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  readonly #dispatch: Dispatch;
  /** The attempts whose executors are being ended. */
  readonly #releasing = new Set<string>();

  constructor(ctx: Context, deps: FireDeps, dispatch: Dispatch) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#dispatch = dispatch;
  }

  /** Called when a spawned agent has registered. Sends it the prompt of its job. */
  registered(spawn_id: string, peer_id: string): void {
    const attempt = attempts.bySpawn(this.#ctx.db, spawn_id);
    if (attempt) this.#deliver(attempt, peer_id);
  }

  /** Begins an attempt, and starts its agent after the commit. */
  start(job: StoredJob, resumes: string | undefined): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const acquired = this.#dispatch.acquire(job, "spawned");
      db.afterCommit(() => this.#launch(acquired.job, acquired.attempt, resumes));
    });
  }

  tick(): void {
    for (const attempt of attempts.open(this.#ctx.db)) this.#check(attempt);
  }

  #launch(job: StoredJob, attempt: StoredAttempt, resumes: string | undefined): void {
    const work = this.#startExecutor(job, attempt, resumes);
    this.#deps.running.add(
      work.catch((error) => this.#ctx.log.error("An executor could not be started", { error })),
    );
  }

  async #startExecutor(
    job: StoredJob,
    attempt: StoredAttempt,
    resumes: string | undefined,
  ): Promise<void> {
    let started: StartedExecutor;
    try {
      const mark = attempt.attempt_id;
      started = await this.#deps.executors.start({ ...startRequestOf(job), resumes, mark });
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const current = this.#findCurrent(attempt);
      if (!current) return;
      return this.#dispatch.markUnavailable(current.job, refusal.code, refusal.toBody().detail);
    }
    const isWanted = this.#ctx.db.transact((tx) => {
      const current = this.#findCurrent(attempt);
      if (!current) return false;
      const spawn_id = started.record();
      const executor = started.resumed ? "resumed" as const : "spawned" as const;
      const now = { ...current.attempt, spawn_id, executor };
      attempts.update(tx, now);
      this.#check(now);
      return true;
    });
    if (!isWanted) await started.undo();
  }

  /** The attempt and its job, while the attempt still waits for its executor. */
  #findCurrent({ attempt_id, job_id }: StoredAttempt) {
    const { db } = this.#ctx;
    const attempt = attempts.get(db, attempt_id), job = rows.get(db, job_id);
    const isWaiting = attempt?.state === "acquired" && job?.current_attempt_id === attempt_id;
    return isWaiting ? { attempt, job } : undefined;
  }

  /** Sends the prompt once the agent has registered; after its time, the job is unavailable. */
  #check(attempt: StoredAttempt): void {
    if (attempt.spawn_id === null || attempt.delivery_id !== null) return;
    const { peer_id, over } = this.#deps.spawns.status(attempt.spawn_id);
    if (peer_id !== null) return this.#deliver(attempt, peer_id);
    const current = over && this.#findCurrent(attempt);
    if (current) this.#dispatch.markUnavailable(current.job, "executor_never_registered");
  }

  #deliver(attempt: StoredAttempt, peer_id: string): void {
    const current = this.#findCurrent(attempt);
    if (!current || current.attempt.delivery_id !== null) return;
    this.#dispatch.deliverToSpawned(current.job, current.attempt, peer_id);
  }

  /** Ends the executors whose fires are over, also after a crash. */
  endReleased(): void {
    for (const attempt of attempts.releasing(this.#ctx.db)) {
      const { attempt_id } = attempt;
      if (this.#releasing.has(attempt_id)) continue;
      this.#releasing.add(attempt_id);
      const work = this.#release(attempt)
        .catch((error) => this.#ctx.log.warn("An executor could not be ended", { error }))
        .finally(() => this.#releasing.delete(attempt_id));
      this.#deps.running.add(work);
    }
  }

  /** Ends an executor. Its peer goes offline if it may be resumed; otherwise it is retired. */
  async #endExecutor(
    { attempt_id, job_id, spawn_id, executor_peer_id }: StoredAttempt,
  ): Promise<boolean> {
    const { executors, spawns } = this.#deps;
    const job = rows.get(this.#ctx.db, job_id);
    if (spawn_id === null) {
      await spawns.cleanUp(attempt_id, job?.created_by_peer_id ?? null);
      return true;
    }
    const terminal = job?.execution.continuity !== "resume";
    return await executors.release(spawn_id, executor_peer_id, { terminal });
  }

  async #release(attempt: StoredAttempt): Promise<void> {
    const { db, clock } = this.#ctx;
    const { attempt_id, job_id } = attempt;
    if (!await this.#endExecutor(attempt)) return; // The next start ends the executor.
    db.transact((tx) => {
      const now = attempts.get(db, attempt_id);
      if (now) attempts.update(tx, { ...now, release: "done" });
      const job = rows.get(db, job_id);
      if (job?.state === "queued") this.#deps.steps.change(job, { look_at: clock.now() });
    });
  }
}

function startRequestOf(job: StoredJob): Omit<StartRequest, "resumes" | "mark"> {
  const { path, backend, profile } = job.execution.target;
  return {
    job_id: job.job_id,
    path: path ?? "",
    backend: backend ?? ANY_PROGRAM,
    ...(profile !== null && { profile }),
    circle: job.circle,
    ...(job.created_by_peer_id !== null && { from_peer: job.created_by_peer_id }),
  };
}
