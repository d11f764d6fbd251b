/** Waits with limits: pauses that can be aborted, timeouts, repeated work, back-off. */

import type { Clock, Ids } from "kit/core/clock.ts";

/** Number of failures after which a pause is not doubled again, so that it stays a number. */
const DOUBLINGS_MAX = 16;

/** Resolves after `ms` or when the signal aborts. Never rejects. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = onTimeoutOrAbort(clock, ms, signal, resolve);
  await promise;
  cancel();
}

/** Resolves in the next turn of the event loop. Answers that are ready leave before it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/**
 * Calls `work` every `every_ms` until the signal aborts. Failures are reported, and the loop goes
 * on. Intervals are monotonic, so setting the clock does not change them. Calls that were missed in
 * a stall are not repeated.
 */
export async function repeat(
  clock: Clock,
  { every_ms, signal, delayed, failed }: {
    readonly every_ms: number;
    readonly signal: AbortSignal;
    /** Called before each call, with how late it is. */
    delayed(ms: number): void;
    failed(error: unknown): void;
  },
  work: () => void,
): Promise<void> {
  for (let due = clock.monotonic() + every_ms; !signal.aborted; due += every_ms) {
    await pause(clock, Math.max(0, due - clock.monotonic()), signal);
    if (signal.aborted) return;
    delayed(clock.monotonic() - due);
    due = Math.max(due, clock.monotonic() - every_ms);
    try {
      work();
    } catch (error) {
      failed(error);
    }
  }
}

/**
 * Returns the result of `work`, or undefined if `ms` pass or `signal` aborts first. If the work
 * fails first, the promise rejects. If `work` is a function, it gets a signal that aborts as soon
 * as `timeout` returns, for any reason.
 */
export async function timeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T> | ((signal: AbortSignal) => Promise<T>),
  signal?: AbortSignal,
): Promise<T | undefined> {
  if (typeof work === "function") {
    // Created only if needed: the first controller of a process takes 5 of a hook's 25 ms.
    const controller = new AbortController();
    try {
      return await timeout(clock, ms, Promise.try(work, controller.signal), signal);
    } finally {
      controller.abort();
    }
  }
  const { promise: expired, resolve } = Promise.withResolvers<undefined>();
  const cancel = onTimeoutOrAbort(clock, ms, signal, () => resolve(undefined));
  try {
    return await Promise.race([work, expired]);
  } finally {
    cancel();
    work.catch(() => undefined); // A failure after the timeout is ignored.
  }
}

/** Calls `done` after `ms` or when the signal aborts. The returned function cancels both. */
function onTimeoutOrAbort(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  done: () => void,
): () => void {
  if (signal?.aborted) done();
  const cancel = clock.setTimer(ms, done);
  signal?.addEventListener("abort", done, { once: true });
  return () => {
    cancel();
    signal?.removeEventListener("abort", done);
  };
}

/** A function that returns true at its first call, and then at most once in `ms`. */
export function atMostEvery(clock: Pick<Clock, "monotonic">, ms: number): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    const isDue = now - last >= ms;
    if (isDue) last = now;
    return isDue;
  };
}

/** The first and the longest pause between attempts, in milliseconds. */
interface RetryPauses {
  readonly first: number;
  readonly max: number;
}

/** The pause before the next attempt, in milliseconds. It doubles with each failure. */
export function doublingMs({ first, max }: RetryPauses, failures: number): number {
  return Math.min(max, first * 2 ** Math.min(failures, DOUBLINGS_MAX));
}

/**
 * The pause before the next attempt to connect, in milliseconds. Half of it is random, so that
 * clients do not all reconnect at once.
 */
export function backoffMs(
  ids: Pick<Ids, "hex">,
  { failures, ...pauses }: RetryPauses & { readonly failures: number },
): number {
  const jitter = Number.parseInt(ids.hex(2), 16) / 0x1_0000;
  return Math.floor(doublingMs(pauses, failures) * (0.5 + jitter / 2));
}

/** A timer whose delay doubles each time, until it is reset. */
export class RetryTimer {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #pauses: RetryPauses;
  readonly #callback: () => void;
  #waits = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Pick<Clock, "setTimer">, pauses: RetryPauses, callback: () => void) {
    this.#clock = clock;
    this.#pauses = pauses;
    this.#callback = callback;
  }

  get isWaiting(): boolean {
    return this.#cancel !== undefined;
  }

  /** True if it has waited since it was reset. */
  get isFailing(): boolean {
    return this.#waits > 0;
  }

  /** Calls back after the next delay, unless it waits already. */
  wait(): void {
    this.#cancel ??= this.#clock.setTimer(doublingMs(this.#pauses, this.#waits++), () => {
      this.#cancel = undefined;
      this.#callback();
    });
  }

  /** Stops waiting, and goes back to the first delay. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waits = 0;
  }
}
