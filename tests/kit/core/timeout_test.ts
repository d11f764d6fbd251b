/** Waiting with a limit: pauses that never reject, and work with a timeout. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { FakeClock } from "../../support/clock.ts";
import { backoffMs, pause, timeout } from "kit/core/timeout.ts";

const never = () => new Promise<never>(() => {});

/** A clock that counts its pending timers. */
function countingClock(): Clock & { open: number } {
  const clock = {
    ...systemClock,
    open: 0,
    setTimer(ms: number, ring: () => void) {
      clock.open++;
      const cancel = systemClock.setTimer(ms, ring);
      return () => {
        clock.open--;
        cancel();
      };
    },
  };
  return clock;
}

Deno.test("a pause ends when its time is up", async () => {
  const clock = new FakeClock();
  let ended = false;
  void pause(clock, 100).then(() => ended = true);
  await clock.advance(99);
  assert.equal(ended, false);
  await clock.advance(1);
  assert.equal(ended, true);
});

Deno.test("a pause ends without an error as soon as its signal aborts", async () => {
  const clock = countingClock();
  const ending = new AbortController();
  const pausing = pause(clock, 60_000, ending.signal);
  ending.abort(new Error("enough"));
  await pausing;
  await pause(clock, 60_000, ending.signal);
  assert.equal(clock.open, 0);
});

Deno.test("timeout returns the result of work that ends in time, and cancels its timer", async () => {
  const clock = countingClock();
  assert.equal(await timeout(clock, 60_000, Promise.resolve(5)), 5);
  assert.equal(await timeout(clock, 60_000, () => Promise.resolve(6)), 6);
  assert.equal(clock.open, 0);
});

Deno.test("timeout returns undefined once the time is up, and aborts the work", async () => {
  const clock = new FakeClock();
  let given: AbortSignal | undefined;
  const work = (signal: AbortSignal) => {
    given = signal;
    return never();
  };
  const waiting = Promise.all([timeout(clock, 100, work), timeout(clock, 100, never())]);
  await clock.advance(99);
  assert.equal(given?.aborted, false);
  await clock.advance(1);
  assert.deepEqual([await waiting, given?.aborted], [[undefined, undefined], true]);
});

Deno.test("timeout returns undefined when its signal aborts, and aborts the work", async () => {
  const ending = new AbortController();
  let given: AbortSignal | undefined;
  const work = (signal: AbortSignal) => {
    given = signal;
    return never();
  };
  const clock = countingClock();
  const waiting = timeout(clock, 60_000, work, ending.signal);
  ending.abort();
  assert.deepEqual([await waiting, given?.aborted, clock.open], [undefined, true, 0]);
  assert.equal(await timeout(clock, 60_000, never(), ending.signal), undefined);
});

Deno.test("timeout rejects with an error of the work, also with one that is thrown at once", async () => {
  const clock = countingClock();
  const failing = new Error("broken");
  const thrown = () => {
    throw failing;
  };
  await assert.rejects(timeout(clock, 60_000, Promise.reject(failing)), failing);
  await assert.rejects(timeout(clock, 60_000, thrown), failing);
  assert.equal(clock.open, 0);
});

Deno.test("an error of the work after the limit is no unhandled rejection", async () => {
  const clock = new FakeClock();
  const late = Promise.withResolvers<never>();
  const waiting = timeout(clock, 100, late.promise);
  await clock.advance(100);
  assert.equal(await waiting, undefined);
  late.reject(new Error("too late"));
  await clock.settle();
});

Deno.test("the pause before connecting again doubles up to a maximum; half of it is random", () => {
  const pauses = (hex: string) =>
    [0, 1, 2, 3, 1e9].map((failures) =>
      backoffMs({ hex: () => hex }, { first: 1_000, max: 5_000, failures })
    );
  assert.deepEqual(pauses("0000"), [500, 1_000, 2_000, 2_500, 2_500]);
  assert.deepEqual(pauses("8000"), [750, 1_500, 3_000, 3_750, 3_750]);
});
