/** Exponential backoff with jitter. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";

export interface BackoffDeps {
  readonly clock: Clock;
  readonly ids: Pick<Ids, "hex">;
}

const INITIAL_PAUSE_MS = 500;
const JITTER_MAX = 0xffff;

/**
 * Each pause is twice as long as the one before, up to `maxMs`. Each is shortened at random by up
 * to a half.
 */
export class Backoff {
  readonly #deps: BackoffDeps;
  readonly #maxMs: number;
  #pauseMs = 0;
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
    this.#pauseMs = 0;
    this.#waitedMs = 0;
  }

  async pause(signal: AbortSignal): Promise<void> {
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, INITIAL_PAUSE_MS), this.#maxMs);
    const fraction = Number.parseInt(this.#deps.ids.hex(2), 16) / JITTER_MAX;
    const pauseMs = Math.round(this.#pauseMs * (1 - fraction / 2));
    this.#waitedMs += pauseMs;
    await pause(this.#deps.clock, pauseMs, signal);
  }
}
