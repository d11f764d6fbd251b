/** Ends executors that were started for one fire, once it is over; what is due survives a crash. */

import type { Ground } from "kit/data/context.ts";
import { DAEMON } from "../../messages/contract.ts";
import type { JobSteps } from "../transitions.ts";
import * as rows from "../store.ts";
import type { FireNeeds } from "./deps.ts";
import * as attempts from "./store.ts";
import type { StoredAttempt } from "./store.ts";

export class Releases {
  readonly #ground: Ground;
  readonly #needs: Pick<FireNeeds, "spawns">;
  readonly #steps: JobSteps;
  /** Being ended now, by attempt. */
  readonly #under_way = new Map<string, Promise<void>>();

  constructor(ground: Ground, needs: Pick<FireNeeds, "spawns">, steps: JobSteps) {
    this.#ground = ground;
    this.#needs = needs;
    this.#steps = steps;
  }

  beat(): void {
    for (const attempt of attempts.releasing(this.#ground.db)) {
      const { attempt_id } = attempt;
      if (this.#under_way.has(attempt_id)) continue;
      const work = this.#release(attempt)
        .catch((fault) => this.#ground.log.warn("An executor could not be ended", { fault }))
        .finally(() => this.#under_way.delete(attempt_id));
      this.#under_way.set(attempt_id, work);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#under_way.values());
  }

  /** One whose session may be taken up again goes offline; any other is retired. */
  async #end({ attempt_id, job_id, spawn_id, executor_peer_id }: StoredAttempt): Promise<boolean> {
    const { spawns } = this.#needs;
    const job = rows.get(this.#ground.db, job_id);
    if (spawn_id === null) {
      await spawns.sweep(attempt_id, job?.created_by_peer_id ?? DAEMON);
      return true;
    }
    const terminal = job?.execution.continuity !== "resume";
    return await spawns.release(spawn_id, executor_peer_id, { terminal });
  }

  async #release(attempt: StoredAttempt): Promise<void> {
    const { db, clock } = this.#ground;
    const { attempt_id, job_id } = attempt;
    if (!await this.#end(attempt)) return; // The daemon goes down; the next one ends it.
    db.transact((tx) => {
      const now = attempts.get(db, attempt_id);
      if (now) attempts.update(tx, { ...now, release: "done" });
      const job = rows.get(db, job_id);
      if (job?.state === "queued") this.#steps.change(job, { look_at: clock.now() });
    });
  }
}
