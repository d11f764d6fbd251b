/** Shares one read among those who ask for the same at the same time, and shortly after. */

import type { Clock } from "kit/core/clock.ts";

interface Read<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  /** Callers that wait for the result. */
  waiting: number;
  isDone: boolean;
}

export class SharedReads<T> {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #kept_ms: number;
  readonly #reads = new Map<string, Read<T>>();

  /** A result is kept for `kept_ms`. */
  constructor(clock: Pick<Clock, "setTimer">, kept_ms: number) {
    this.#clock = clock;
    this.#kept_ms = kept_ms;
  }

  /** The work ends early only if every caller has gone. */
  async read(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const read = this.#reads.get(key) ?? this.#begin(key, work);
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    read.waiting++;
    try {
      return await Promise.race([read.result, gone]);
    } finally {
      signal.removeEventListener("abort", leave);
      read.waiting--;
      if (read.waiting === 0 && !read.isDone) {
        this.#forget(key, read);
        read.controller.abort();
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Read<T> {
    const controller = new AbortController();
    const result = work(controller.signal);
    const read: Read<T> = { result, controller, waiting: 0, isDone: false };
    this.#reads.set(key, read);
    result.then(
      () => void this.#clock.setTimer(this.#kept_ms, () => this.#forget(key, read)),
      () => this.#forget(key, read),
    ).finally(() => read.isDone = true);
    return read;
  }

  #forget(key: string, read: Read<T>): void {
    if (this.#reads.get(key) === read) this.#reads.delete(key);
  }
}
