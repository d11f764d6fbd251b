/** Detects that the wall clock was set, or that this machine was suspended. */

import type { Clock } from "kit/core/clock.ts";

/** Minimum size of a step. Time servers slew smaller differences. */
const STEP_MS = 1000;

export class ClockSteps {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  #offset_ms: number;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
    this.#offset_ms = this.#offset();
  }

  /** True if the clock has stepped since the last call. */
  hasStepped(): boolean {
    const before = this.#offset_ms;
    this.#offset_ms = this.#offset();
    return Math.abs(this.#offset_ms - before) > STEP_MS;
  }

  #offset(): number {
    return this.#clock.now() - this.#clock.monotonic();
  }
}
