/** A fake clock whose time of day may jump, as when a clock is set, while its timers run on. */

import { SwiftClock } from "./swift_clock.ts";

export class JumpingClock extends SwiftClock {
  #offset_ms = 0;

  override now(): number {
    return super.now() + this.#offset_ms;
  }

  /** Sets the time of day forwards, or backwards by a negative number. Timers keep their delay. */
  jump(ms: number): void {
    this.#offset_ms += ms;
  }
}
