/** The clock of one machine: it runs with those of the others, and is wrong by a constant. */

import type { FakeClock } from "../../support/clock.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

export class SkewedClock extends SwiftClock {
  readonly #true: FakeClock;
  /** How far it is ahead of the true time. */
  ahead_ms = 0;

  constructor(clock: FakeClock) {
    super();
    this.#true = clock;
  }

  override now(): number {
    return this.#true.now() + this.ahead_ms;
  }

  override setTimer(ms: number, ring: () => void): () => void {
    return this.#true.setTimer(ms, ring);
  }

  override advance(ms: number): Promise<void> {
    return this.#true.advance(ms);
  }
}
