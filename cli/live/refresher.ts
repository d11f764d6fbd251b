/** Reloads on request, but never twice at once and not too often. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";

interface RefresherOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The time from the start of one load to the start of the next. */
  readonly interval_ms: number;
}

export class Refresher {
  readonly #load: () => Promise<void>;
  readonly #options: RefresherOptions;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #startedAt = -Infinity;

  constructor(load: () => Promise<void>, options: RefresherOptions) {
    this.#load = load;
    this.#options = options;
  }

  /** Resolves when a load has ended that began after this call. */
  request(): Promise<void> {
    return this.#next ??= this.#after(this.#loading);
  }

  async #after(loading: Promise<void> | undefined): Promise<void> {
    await loading?.catch(() => undefined); // Its own callers get the error.
    const { clock, signal, interval_ms } = this.#options;
    const wait_ms = this.#startedAt + interval_ms - clock.monotonic();
    if (wait_ms > 0) await pause(clock, wait_ms, signal);
    this.#startedAt = clock.monotonic();
    this.#loading = this.#next;
    this.#next = undefined;
    if (!signal.aborted) await this.#load();
  }
}
