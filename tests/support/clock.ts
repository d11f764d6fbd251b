/** A fake clock. Its time stands still until a test advances it or sets the time of day. */

import assert from "node:assert/strict";
import { type Boottime, type Clock, type Monotonic, sleepWithTimer } from "kit/core/clock.ts";

/** Far from any time of day: a mix-up of the two clocks is off by decades. */
const MONOTONIC_START_MS = 5_000_000;
/** Maximum time, on a real clock, in which a clock is advanced until something happens. */
const REAL_MS_MAX = 60_000;

/** A clock that a test advances; sleepers wake in the order of their deadlines. */
export class FakeClock implements Clock {
  #monotonic = MONOTONIC_START_MS;
  #suspended_ms = 0;
  /** The time of day minus the boottime. */
  #offset_ms: number;
  #sleepers: { due: number; wake: () => void }[] = [];

  constructor(now = "2030-01-01T00:00:00Z") {
    this.#offset_ms = Date.parse(now) - MONOTONIC_START_MS;
  }

  now(): number {
    return this.boottime() + this.#offset_ms;
  }

  monotonic(): Monotonic {
    return this.#monotonic as Monotonic;
  }

  boottime(): Boottime {
    return this.#monotonic + this.#suspended_ms as Boottime;
  }

  setTimer(ms: number, ring: () => void): () => void {
    const sleeper = { due: this.#monotonic + ms, wake: ring };
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
    const until = this.#monotonic + ms;
    for (let next = this.#first(until); next; next = this.#first(until)) {
      this.#monotonic = Math.max(this.#monotonic, next.due);
      next.wake();
      await this.settle();
    }
    this.#monotonic = until;
  }

  /** Advances in steps until a condition holds; fails if that takes longer than a real minute. */
  async advanceUntil(what: string, holds: () => boolean, step_ms = 250): Promise<void> {
    const deadline = performance.now() + REAL_MS_MAX;
    while (!holds()) {
      assert.ok(performance.now() < deadline, `It never came about: ${what}`);
      await this.advance(step_ms);
    }
  }

  /** Lets sleeps of no time pass until some work is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    void work.catch(() => undefined).then(() => isDone = true);
    await this.advanceUntil("the end of the work", () => isDone, 0);
    return await work;
  }

  /** Sets the time of day forwards, or back by a negative number. Everything else goes on. */
  step(ms: number): void {
    this.#offset_ms += ms;
  }

  /**
   * Suspends the machine: the time of day goes on, while timers stand still. A negative time sets
   * the clock back, like `step`.
   */
  sleepMachine(ms: number): void {
    if (ms < 0) return this.step(ms);
    this.#suspended_ms += ms;
  }

  #first(until: number): { due: number; wake: () => void } | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= until);
    const first = due.sort((a, b) => a.due - b.due)[0];
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== first);
    return first;
  }
}
