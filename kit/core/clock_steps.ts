/** Notices that the wall clock was set, or that this machine stood still. */

import type { Clock } from "kit/core/clock.ts";

/** A step is larger than this. Time servers slew smaller differences, which is none. */
const STEP_MS = 1000;

/** The time of day, and a time that nobody sets. A clock without the latter never steps. */
export interface TwoClocks extends Pick<Clock, "now"> {
  monotonic?(): number;
}

export class ClockSteps {
  readonly #clock: TwoClocks;
  #offset_ms: number;

  constructor(clock: TwoClocks) {
    this.#clock = clock;
    this.#offset_ms = this.#offset();
  }

  /** Whether the clock has made a step since the last call. */
  hasStepped(): boolean {
    const before = this.#offset_ms;
    this.#offset_ms = this.#offset();
    return Math.abs(this.#offset_ms - before) > STEP_MS;
  }

  #offset(): number {
    const monotonic = this.#clock.monotonic?.();
    return monotonic === undefined ? 0 : this.#clock.now() - monotonic;
  }
}
