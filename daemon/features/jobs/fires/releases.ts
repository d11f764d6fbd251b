/** Ends an executor that was started for one fire when that fire is over, also after a crash. */

import type { Context } from "../../../data/context.ts";
import * as rows from "../store.ts";
import type { FireDeps } from "./deps.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

export class Releases {
  readonly #ctx: Context;
  readonly #deps: FireDeps;
  /** The attempts whose executors are being ended. */
  readonly #releasing = new Set<string>();

  constructor(ctx: Context, deps: FireDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(): void {
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

  /**
   * Ends an executor. Its peer goes offline if its session may be resumed; otherwise it is retired.
   */
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
