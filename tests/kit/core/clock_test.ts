/** The system clock, the fake clock and ids. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { briefClock, ForwardTime, randomIds, systemClock } from "kit/core/clock.ts";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";

Deno.test("sleepers wake in the order of their deadlines, each at its own time", async () => {
  const clock = new FakeClock();
  const start = clock.now();
  const woken: [string, number][] = [];
  for (const [name, ms] of [["late", 300], ["soon", 100], ["between", 200]] as const) {
    clock.sleep(ms).then(() => woken.push([name, clock.now() - start]));
  }
  await clock.advance(250);
  assert.deepEqual(woken, [["soon", 100], ["between", 200]]);
  assert.equal(clock.now() - start, 250);
  await clock.advance(50);
  assert.deepEqual(woken.at(-1), ["late", 300]);
});

Deno.test("a sleeper that sleeps again within the same advance wakes again", async () => {
  const clock = new FakeClock();
  let ticks = 0;
  const tick = async (): Promise<void> => {
    await clock.sleep(1000);
    ticks++;
    return tick();
  };
  tick();
  await clock.advance(5000);
  assert.equal(ticks, 5);
});

Deno.test("sleepers with any deadlines wake in order", async () => {
  const ms = fc.integer({ min: 0, max: 1000 });
  await fc.assert(
    fc.asyncProperty(fc.array(ms, { maxLength: 8 }), async (sleeps) => {
      const clock = new FakeClock();
      const woken: number[] = [];
      for (const ms of sleeps) clock.sleep(ms).then(() => woken.push(ms));
      await clock.advance(1000);
      assert.deepEqual(woken, sleeps.toSorted((a, b) => a - b));
    }),
    { numRuns: 10 },
  );
});

for (const [name, clock] of [["fake", new FakeClock()], ["real", systemClock]] as const) {
  Deno.test(`the ${name} clock's sleep rejects with its signal's reason`, async () => {
    const reason = new Error("enough");
    const ending = new AbortController();
    const sleeping = clock.sleep(60_000, ending.signal);
    ending.abort(reason);
    await assert.rejects(sleeping, reason);
    await assert.rejects(clock.sleep(1, ending.signal), reason);
  });
}

Deno.test("the system clock sleeps and returns the time", async () => {
  const before = systemClock.now();
  await systemClock.sleep(2, new AbortController().signal);
  assert.ok(systemClock.now() >= before + 1);
});

Deno.test("ids are a prefix and 12 hex digits; secrets have the length that their bytes need", () => {
  for (const ids of [randomIds, countingIds()]) {
    assert.match(ids.next("ask"), /^ask-[0-9a-f]{12}$/);
    assert.match(ids.hex(16), /^[0-9a-f]{32}$/);
    assert.match(ids.secret(32), /^[A-Za-z0-9_-]{43}$/);
    const many = Array.from({ length: 1000 }, () => ids.next("qd"));
    assert.equal(new Set(many).size, many.length);
  }
  assert.equal(countingIds().next("ask"), "ask-000000000001");
});

Deno.test("a brief timer calls back, unless it is cancelled first", async () => {
  const called: string[] = [];
  const cancel = briefClock.setTimer(0, () => called.push("cancelled"));
  cancel();
  await briefClock.sleep(0);
  called.push("slept");
  await new Promise<void>((resolve) => void briefClock.setTimer(0, resolve));
  assert.deepEqual(called, ["slept"]);
  await assert.rejects(briefClock.sleep(60_000, AbortSignal.abort(new Error("ended"))), /ended/);
});

Deno.test("a forward time continues from its last value after the clock was set back", async () => {
  const clock = new FakeClock();
  const time = new ForwardTime(clock);
  const before = time.now();
  clock.step(-7_200_000);
  assert.equal(time.now(), before);
  await clock.advance(1500);
  assert.equal(time.now(), before + 1500);
  clock.step(9_000_000);
  assert.equal(time.now(), clock.now());
});
