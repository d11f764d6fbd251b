/** Work that nobody waits for: its failure is logged, and a shutdown waits for its end. */

import type { Log } from "kit/core/log.ts";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";

/** How long a shutdown waits. What takes longer waits for others, such as a frozen program. */
const CLOSE_MS_MAX = 3000;

export class BackgroundWork {
  readonly #log: Log;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** How much runs now. */
  get size(): number {
    return this.#running.size;
  }

  /** Logs a failure of the work as `failure`. The returned promise never rejects. */
  run(failure: string, work: Promise<unknown>): Promise<void> {
    return this.track(work.then(() => undefined, (error) => this.failed(failure, error)));
  }

  /** Lets a shutdown wait for work whose failure its caller handles. Returns the work itself. */
  track<P extends Promise<unknown>>(work: P): P {
    const ended = () => void this.#running.delete(work);
    this.#running.add(work);
    work.then(ended, ended);
    return work;
  }

  /**
   * Logs a failure. After `close`, what work needs, such as the database, is closed: that it fails
   * then is no fault.
   */
  failed(failure: string, error: unknown): void {
    if (this.#isClosed) this.#log.info("Work did not end before the shutdown", { failure, error });
    else this.#log.error(failure, { error });
  }

  /** Waits until all work has ended, also that which other work begins, but not for ever. */
  async close(clock: Clock = systemClock): Promise<void> {
    await timeout(clock, CLOSE_MS_MAX, async (signal) => {
      while (this.#running.size > 0 && !signal.aborted) await Promise.allSettled(this.#running);
    });
    this.#isClosed = true;
  }
}
