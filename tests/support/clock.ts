/** The clock of tests: its time stands still until a test advances it. */

import type { Clock } from "kit/clock.ts";

/** A clock that a test advances; sleepers wake in the order of their deadlines. */
export class FakeClock implements Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  #sleepers: { due: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { due: this.#now + ms, wake: resolve };
    this.#sleepers.push(sleeper);
    signal?.addEventListener("abort", () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
      reject(signal.reason);
    }, { once: true });
    return promise;
  }

  /** Runs everything that is ready, the open group's commit included. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    const until = this.#now + ms;
    for (let next = this.#first(until); next; next = this.#first(until)) {
      this.#now = next.due;
      next.wake();
      await this.settle();
    }
    this.#now = until;
  }

  #first(until: number): { due: number; wake: () => void } | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= until);
    const first = due.sort((a, b) => a.due - b.due)[0];
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== first);
    return first;
  }
}
