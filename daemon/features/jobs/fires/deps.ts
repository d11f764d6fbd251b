/** Dependencies of fires on the jobs feature and on other features. */

import type { AccountLimits } from "../../limits/limits.ts";
import type { Delivery } from "../../messages/delivery.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import type { FolderScope } from "../../spawn/folders.ts";
import type { Spawns } from "../../spawn/spawns.ts";
import type { CheckRunner } from "../check_runner.ts";
import type { Executors } from "../executors.ts";
import type { Notices } from "../notices.ts";
import type { JobSteps } from "../transitions.ts";

export interface FireDeps {
  readonly checkRunner: CheckRunner;
  readonly delivery: Delivery;
  readonly executors: Executors;
  /** The folders in which agents may start and checks may run. */
  readonly folders: FolderScope;
  readonly limits: Pick<AccountLimits, "isLimited">;
  readonly notices: Notices;
  readonly notifications: Notifications;
  readonly running: RunningWork;
  readonly shutdownSignal: AbortSignal;
  readonly spawns: Spawns;
  readonly steps: JobSteps;
}

/** The launches, checks and releases in progress. */
export class RunningWork {
  readonly #running = new Set<Promise<void>>();

  add(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async whenDone(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
