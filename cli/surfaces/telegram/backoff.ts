/** Waiting before the next try: each pause is longer than the last. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";

export interface Chance {
  readonly clock: Clock;
  readonly ids: Pick<Ids, "hex">;
}

const FIRST_MS = 500;
const JITTER_MAX = 0xffff;

/** Pauses that double up to `most_ms`, each shortened by chance by up to a half. */
export class Backoff {
  readonly #chance: Chance;
  readonly #most_ms: number;
  #ms = 0;
  #waited_ms = 0;

  constructor(chance: Chance, most_ms: number) {
    this.#chance = chance;
    this.#most_ms = most_ms;
  }

  /** How long was waited since the last `reset`, in milliseconds. */
  get waited_ms(): number {
    return this.#waited_ms;
  }

  reset(): void {
    this.#ms = 0;
    this.#waited_ms = 0;
  }

  async pause(signal: AbortSignal): Promise<void> {
    this.#ms = Math.min(Math.max(this.#ms * 2, FIRST_MS), this.#most_ms);
    const part = Number.parseInt(this.#chance.ids.hex(2), 16) / JITTER_MAX;
    const ms = Math.round(this.#ms * (1 - part / 2));
    this.#waited_ms += ms;
    await pause(this.#chance.clock, ms, signal);
  }
}
