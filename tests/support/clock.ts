/** A fake clock: its time stands still until a test advances it. */

import { type Clock, sleepWithTimer } from "kit/core/clock.ts";

/** A clock that a test advances; sleepers wake in the order of their deadlines. */
export class FakeClock implements Clock {
  #now: number;
  #sleepers: { due: number; wake: () => void }[] = [];

  constructor(now = "2030-01-01T00:00:00Z") {
    this.#now = Date.parse(now);
  }

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, ring: () => void): () => void {
    const sleeper = { due: this.#now + ms, wake: ring };
    this.#sleepers.push(sleeper);
    return () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWithTimer(this, ms, signal);
  }

  /** Runs everything that is ready, the commit of an open group included. */
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

  /** Lets sleeps of no time pass until some work is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    void work.catch(() => undefined).then(() => isDone = true);
    while (!isDone) await this.advance(0);
    return await work;
  }

  /**
   * The machine sleeps: the time of day goes on, while timers stand still, as those of a process
   * do. A negative time sets the clock back.
   */
  sleepMachine(ms: number): void {
    this.#now += ms;
    for (const sleeper of this.#sleepers) sleeper.due += ms;
  }

  #first(until: number): { due: number; wake: () => void } | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= until);
    const first = due.sort((a, b) => a.due - b.due)[0];
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== first);
    return first;
  }
}
