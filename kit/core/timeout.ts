/** Waiting with a limit: a pause that an abort ends early, and work that may take only so long. */

import type { Clock } from "kit/core/clock.ts";

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = onTimeoutOrAbort(clock, ms, signal, resolve);
  await promise;
  cancel();
}

/**
 * The result of `work`, or undefined once `ms` have passed or `signal` has aborted. Given as a
 * function, the work gets a signal of its own, which aborts when `timeout` returns, for whatever
 * reason. A failure of the work rejects, unless it comes after that.
 */
export async function timeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T> | ((signal: AbortSignal) => Promise<T>),
  signal?: AbortSignal,
): Promise<T | undefined> {
  if (typeof work === "function") {
    // Only for work that wants it: a process's first controller takes 5 ms, of the 25 of a hook.
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
    work.catch(() => undefined); // A failure after the limit concerns nobody.
  }
}

/** Calls `done` when the time is up or the signal aborts; returns what stops both. */
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
