/** Runs work in the background: logs failures, and lets a shutdown wait for the end of the work. */

import type { Log } from "kit/core/log.ts";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";

/** Time limit for a shutdown. Longer work waits for an external cause, such as a frozen program. */
const CLOSE_MS_MAX = 3000;

export class BackgroundWork {
  readonly #log: Log;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Number of promises that are pending now. */
  get size(): number {
    return this.#running.size;
  }

  /** Logs a failure of the work as `failure`. The returned promise never rejects. */
  run(failure: string, work: Promise<unknown>): Promise<void> {
    return this.track(work.then(() => undefined, (error) => this.failed(failure, error)));
  }

  /** Makes a shutdown wait for work whose failure the caller handles. Returns the work. */
  track<P extends Promise<unknown>>(work: P): P {
    const ended = () => void this.#running.delete(work);
    this.#running.add(work);
    work.then(ended, ended);
    return work;
  }

  /** Logs a failure. After `close` it is no error, because the database, too, is closed. */
  failed(failure: string, error: unknown): void {
    if (this.#isClosed) this.#log.info("Work did not end before the shutdown", { failure, error });
    else this.#log.error(failure, { error });
  }

  /** Waits for all work, including work that starts meanwhile, for at most `CLOSE_MS_MAX`. */
  async close(clock: Clock = systemClock): Promise<void> {
    await timeout(clock, CLOSE_MS_MAX, async (signal) => {
      while (this.#running.size > 0 && !signal.aborted) await Promise.allSettled(this.#running);
    });
    this.#isClosed = true;
  }
}
