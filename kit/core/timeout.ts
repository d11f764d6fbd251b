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

/**
 * The pause in milliseconds before the next attempt to connect. It doubles with each failure up to
 * a maximum. Half of it is random, so that clients do not all reconnect at once.
 */
export function backoffMs(
  ids: Pick<Ids, "hex">,
  { first, max, failures }: {
    readonly first: number;
    readonly max: number;
    readonly failures: number;
  },
): number {
  const longest_ms = Math.min(max, first * 2 ** Math.min(failures, DOUBLINGS_MAX));
  const jitter = Number.parseInt(ids.hex(2), 16) / 0x1_0000;
  return Math.floor(longest_ms * (0.5 + jitter / 2));
}
