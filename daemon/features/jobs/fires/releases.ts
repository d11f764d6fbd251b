/** Ends an executor that was started for one fire when that fire is over, also after a crash. */

import type { Context } from "kit/data/context.ts";
import { DAEMON } from "../../messages/contract.ts";
import type { JobSteps } from "../transitions.ts";
import * as rows from "../store.ts";
import type { FireDeps } from "./deps.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

export class Releases {
  readonly #ctx: Context;
  readonly #deps: Pick<FireDeps, "spawns">;
  readonly #steps: JobSteps;
  /** Releases in progress, by attempt. */
  readonly #releases = new Map<string, Promise<void>>();

  constructor(ctx: Context, deps: Pick<FireDeps, "spawns">, steps: JobSteps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#steps = steps;
  }

  tick(): void {
    for (const attempt of attempts.releasing(this.#ctx.db)) {
      const { attempt_id } = attempt;
      if (this.#releases.has(attempt_id)) continue;
      const work = this.#release(attempt)
        .catch((error) => this.#ctx.log.warn("An executor could not be ended", { error }))
        .finally(() => this.#releases.delete(attempt_id));
      this.#releases.set(attempt_id, work);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#releases.values());
  }

  /**
   * Ends an executor. Its peer goes offline if its session may be resumed; otherwise it is retired.
   */
  async #endExecutor(
    { attempt_id, job_id, spawn_id, executor_peer_id }: StoredAttempt,
  ): Promise<boolean> {
    const { spawns } = this.#deps;
    const job = rows.get(this.#ctx.db, job_id);
    if (spawn_id === null) {
      await spawns.cleanUp(attempt_id, job?.created_by_peer_id ?? DAEMON);
      return true;
    }
    const terminal = job?.execution.continuity !== "resume";
    return await spawns.release(spawn_id, executor_peer_id, { terminal });
  }

  async #release(attempt: StoredAttempt): Promise<void> {
    const { db, clock } = this.#ctx;
    const { attempt_id, job_id } = attempt;
    if (!await this.#endExecutor(attempt)) return; // The next start ends the executor.
    db.transact((tx) => {
      const now = attempts.get(db, attempt_id);
      if (now) attempts.update(tx, { ...now, release: "done" });
      const job = rows.get(db, job_id);
      if (job?.state === "queued") this.#steps.change(job, { look_at: clock.now() });
    });
  }
}
