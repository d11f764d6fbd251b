/** Decides when an end of a tunnel sends a ping, and when the other end counts as disconnected. */

import type { Clock, Monotonic } from "kit/core/clock.ts";
import { PING_EVERY_MS, PINGS_RECEIVED_MAX, PINGS_UNANSWERED_MAX } from "kit/net/tunnel/frames.ts";

export class KeepAlive {
  #pinged_at: Monotonic;
  #unanswered = 0;
  #sent = 0;
  #received = 0;

  constructor(clock: Clock) {
    this.#pinged_at = clock.monotonic();
  }

  /** Any message of the other end answers all pings. */
  answered(): void {
    this.#unanswered = 0;
  }

  /** Counts a received ping; false if there were too many since our last one. */
  receivePing(): boolean {
    return ++this.#received <= PINGS_RECEIVED_MAX;
  }

  /** The id of a ping to send now, `gone` after too many unanswered ones, or undefined. */
  tick(now: Monotonic): number | "gone" | undefined {
    if (now - this.#pinged_at < PING_EVERY_MS) return undefined;
    if (this.#unanswered >= PINGS_UNANSWERED_MAX) return "gone";
    this.#pinged_at = now;
    this.#received = 0;
    this.#unanswered++;
    return ++this.#sent;
  }
}
