/** A timer whose delay doubles each time, until it is reset. */

import type { Clock } from "kit/core/clock.ts";

export class BackOff {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #delays: { readonly first: number; readonly max: number };
  readonly #callback: () => void;
  #next_ms: number;
  #cancel: (() => void) | undefined;

  /** The delays are in milliseconds. */
  constructor(
    clock: Pick<Clock, "setTimer">,
    delays: { readonly first: number; readonly max: number },
    callback: () => void,
  ) {
    this.#clock = clock;
    this.#delays = delays;
    this.#callback = callback;
    this.#next_ms = delays.first;
  }

  get isWaiting(): boolean {
    return this.#cancel !== undefined;
  }

  /** True if it has waited since it was reset. */
  get isFailing(): boolean {
    return this.#next_ms > this.#delays.first;
  }

  /** Calls back after the next delay, unless it waits already. */
  wait(): void {
    if (this.#cancel) return;
    this.#cancel = this.#clock.setTimer(this.#next_ms, () => {
      this.#cancel = undefined;
      this.#callback();
    });
    this.#next_ms = Math.min(this.#next_ms * 2, this.#delays.max);
  }

  /** Stops waiting, and goes back to the first delay. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#next_ms = this.#delays.first;
  }
}
