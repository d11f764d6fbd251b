/** The clock of one machine, with an offset from the clock of the test, which can be set. */

import type { Boottime, Monotonic } from "kit/core/clock.ts";
import { FakeClock } from "../clock.ts";

export class SkewedClock extends FakeClock {
  readonly #base: FakeClock;
  /** Time by which it is ahead of the clock of the test. */
  ahead_ms: number;

  constructor(base: FakeClock, ahead_ms = 0) {
    super();
    this.#base = base;
    this.ahead_ms = ahead_ms;
  }

  override now(): number {
    return this.#base.now() + this.ahead_ms;
  }

  override monotonic(): Monotonic {
    return this.#base.monotonic();
  }

  override boottime(): Boottime {
    return this.#base.boottime();
  }

  override step(ms: number): void {
    this.ahead_ms += ms;
  }

  override setTimer(ms: number, ring: () => void): () => void {
    return this.#base.setTimer(ms, ring);
  }

  override settle(): Promise<void> {
    return this.#base.settle();
  }

  override advance(ms: number): Promise<void> {
    return this.#base.advance(ms);
  }
}
