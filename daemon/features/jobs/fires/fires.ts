/** Chooses an executor for each job that is due, and runs the parts that end its fire. */

import type { Context } from "../../../data/context.ts";
import { isOnline } from "../../peers/directory.ts";
import { LIMITED } from "../../limits/deps.ts";
import { DAEMON_RESTART } from "../transitions.ts";
import * as rows from "../store.ts";
import type { StoredJob } from "../store.ts";
import type { FireDeps } from "./deps.ts";
import { Dispatch, RETRY_MS } from "./dispatch.ts";
import { SpawnedExecutors } from "./spawned_executors.ts";
import * as attempts from "./store.ts";
import { TimeLimits } from "./time_limits.ts";
import { Turns } from "./turns.ts";

/** Time for which a job waits while its previous executor has not ended. */
const RELEASE_WAIT_MS = 1_000;
/** The maximum number of agents started for jobs that run at the same time. Further jobs wait. */
export const EXECUTORS_MAX = 16;
const TICK_ROWS_MAX = 100;

export class Fires {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  readonly #dispatch: Dispatch;
  readonly executors: SpawnedExecutors;
  readonly #timeLimits: TimeLimits;
  readonly turns: Turns;

  constructor(ctx: Context, deps: FireDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.turns = new Turns(ctx, deps);
    this.#dispatch = new Dispatch(ctx, deps, this.turns);
    this.executors = new SpawnedExecutors(ctx, deps, this.#dispatch);
    this.#timeLimits = new TimeLimits(ctx, {
      ...deps,
      turns: this.turns,
      dispatch: this.#dispatch,
    });
  }

  /** Starts the jobs that are due, each in a transaction of its own. */
  startDue(): void {
    const { db, clock } = this.#ctx;
    for (const job of rows.due(db, clock.now(), TICK_ROWS_MAX)) this.#start(job);
  }

  tick(now: number): void {
    this.#timeLimits.tick(now);
    this.executors.tick();
    this.turns.tick();
    this.executors.endReleased();
    this.startDue();
  }

  /** After a start: queues interrupted dispatches again, and follows sent messages. */
  start(): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => rows.wakeAll(tx, clock.now()));
    this.turns.start();
    for (const attempt of attempts.open(db)) {
      if (attempt.delivery_id !== null || attempt.spawn_id !== null) continue;
      const job = rows.get(db, attempt.job_id);
      if (job?.state === "dispatching") this.#dispatch.requeue(job, attempt, DAEMON_RESTART);
    }
  }

  #start(job: StoredJob): void {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    // A job may become due and expire between two ticks.
    if (job.expires_at !== null && job.expires_at <= now) return this.#timeLimits.expire(job);
    const waitForRelease = () =>
      this.#dispatch.postpone(job, "executor_ending", now + RELEASE_WAIT_MS);
    if (attempts.ofJob(db, job.job_id, 1)[0]?.release === "due") return waitForRelease();
    const { assigned_peer_id } = job.execution.target;
    if (assigned_peer_id !== null) return this.#assign(job, assigned_peer_id);
    const resumes = job.execution.continuity === "resume";
    const lastWorked = resumes ? attempts.lastWorked(db, job) : undefined;
    if (lastWorked?.release === "due") return waitForRelease();
    const previous = lastWorked?.executor_peer_id ?? undefined;
    const previousPeer = previous === undefined ? undefined : this.#deps.executors.get(previous);
    if (previousPeer && isOnline(previousPeer) && previousPeer.addressable) {
      return this.#dispatch.deliverTo(job, previousPeer.peer_id, "reused");
    }
    if (attempts.ownExecutors(db) >= EXECUTORS_MAX) {
      return this.#dispatch.postpone(job, "executors_busy", now + RETRY_MS);
    }
    this.executors.start(job, previous);
  }

  #assign(job: StoredJob, peer_id: string): void {
    const peer = this.#deps.executors.get(peer_id);
    if (!peer || peer.status === "retired") {
      return this.#dispatch.markUnavailable(job, "peer_retired");
    }
    if (!peer.addressable) return this.#dispatch.markUnavailable(job, "peer_not_addressable");
    if (!isOnline(peer)) return this.#dispatch.postpone(job, "executor_offline", null);
    if (this.#deps.limits.isLimited(peer_id)) {
      return this.#dispatch.postpone(job, LIMITED, this.#ctx.clock.now() + RETRY_MS);
    }
    this.#dispatch.deliverTo(job, peer_id, "assigned");
  }

  /** Called when a peer is online or has changed. Starts the jobs that waited for the peer. */
  peerSeen(peer_id: string): void {
    const { db, clock } = this.#ctx;
    if (!rows.hasWaitingJob(db, peer_id)) return;
    db.transact((tx) => {
      rows.wake(tx, peer_id, clock.now());
      db.afterCommit(() => this.startDue());
    });
  }
}
