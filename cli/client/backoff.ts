/** Exponential backoff with jitter. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { backoffMs, pause } from "kit/core/timeout.ts";

export interface BackoffDeps {
  readonly clock: Clock;
  readonly ids: Pick<Ids, "hex">;
}

const INITIAL_PAUSE_MS = 500;

/** Pauses between attempts, from half a second up to `maxMs` (`backoffMs`). */
export class Backoff {
  readonly #deps: BackoffDeps;
  readonly #maxMs: number;
  #failures = 0;
  #waitedMs = 0;

  constructor(deps: BackoffDeps, maxMs: number) {
    this.#deps = deps;
    this.#maxMs = maxMs;
  }

  /** The total of pauses since the last `reset`. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  reset(): void {
    this.#failures = 0;
    this.#waitedMs = 0;
  }

  /** Pauses; if the other side asks for a time, for that time, which counts as no failure. */
  async pause(signal: AbortSignal, asked_ms?: number): Promise<void> {
    const { clock, ids } = this.#deps;
    if (asked_ms !== undefined) return await pause(clock, asked_ms, signal);
    const delays = { first: INITIAL_PAUSE_MS, max: this.#maxMs, failures: this.#failures++ };
    const pauseMs = backoffMs(ids, delays);
    this.#waitedMs += pauseMs;
    await pause(clock, pauseMs, signal);
  }
}
