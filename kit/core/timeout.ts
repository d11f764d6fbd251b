/** Waiting with a limit: a pause that an abort ends, and work with a timeout. */

import type { Clock } from "kit/core/clock.ts";

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = onTimeoutOrAbort(clock, ms, signal, resolve);
  await promise;
  cancel();
}

/**
 * The result of `work`, or undefined once `ms` have passed or `signal` has aborted. Work that is
 * given as a function gets a signal that aborts when `timeout` returns, for any reason. The promise
 * rejects if the work fails before that.
 */
export async function timeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T> | ((signal: AbortSignal) => Promise<T>),
  signal?: AbortSignal,
): Promise<T | undefined> {
  if (typeof work === "function") {
    // Only for work that needs it: the first controller of a process takes 5 of a hook's 25 ms.
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
