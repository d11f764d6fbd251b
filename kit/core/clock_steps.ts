/** Notices that the wall clock was set, or that this machine stood still. */

import type { Clock } from "kit/core/clock.ts";

/** A step is larger than this. Time servers slew smaller differences, which is none. */
const STEP_MS = 1000;

export class ClockSteps {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  #offset_ms: number;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
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
    return this.#clock.now() - this.#clock.monotonic();
  }
}
