/** Decides when to ping a connection, and when its other end counts as gone. */

import type { Clock, Monotonic } from "kit/core/clock.ts";

interface KeepAliveOptions {
  readonly every_ms: number;
  /** Number of unanswered pings after which the next one reports the other end as gone. */
  readonly unanswered_max: number;
}

export class KeepAlive {
  readonly #clock: Clock;
  readonly #options: KeepAliveOptions;
  #pinged_at: Monotonic;
  #unanswered = 0;
  #sent = 0;
  /** Time of the last sign of life of the other end, in milliseconds since 1970. */
  heard_at: number;

  constructor(clock: Clock, options: KeepAliveOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#pinged_at = clock.monotonic();
    this.heard_at = clock.now();
  }

  /** A sign of life answers all pings. */
  heard(): void {
    this.heard_at = this.#clock.now();
    this.#unanswered = 0;
  }

  /** The id of a ping to send now, `gone` after too many unanswered ones, or undefined. */
  tick(now: Monotonic): number | "gone" | undefined {
    const { every_ms, unanswered_max } = this.#options;
    if (now - this.#pinged_at < every_ms) return undefined;
    if (this.#unanswered >= unanswered_max) return "gone";
    this.#pinged_at = now;
    this.#unanswered++;
    return ++this.#sent;
  }
}
