/** Parsing durations. */

import assert from "node:assert/strict";
import { parseDuration, parseFromNow } from "kit/core/duration.ts";

const CASES: readonly [text: string, ms: number | undefined][] = [
  ["10m", 600_000],
  ["90 min", 5_400_000],
  ["1h30m", 5_400_000],
  ["1 Hour 30 Minutes", 5_400_000],
  ["2d", 172_800_000],
  ["1w", 604_800_000],
  ["5s", 5_000],
  ["0s", 0],
  ["30m1h", undefined],
  ["1h1h", undefined],
  ["10", undefined],
  ["m", undefined],
  ["10 fortnights", undefined],
  ["-5m", undefined],
  ["1.5h", undefined],
  ["1234567890s", undefined],
  ["", undefined],
];

for (const [text, ms] of CASES) {
  Deno.test(`the duration "${text}" is ${ms === undefined ? "refused" : `${ms} ms`}`, () => {
    assert.equal(parseDuration(text), ms);
    assert.equal(parseFromNow(`in ${text}`), ms);
    assert.equal(parseFromNow(text), ms);
  });
}

Deno.test("parseFromNow accepts the prefix `in` and no other text", () => {
  assert.equal(parseDuration("in 10m"), undefined);
  assert.equal(parseFromNow("10m ago"), undefined);
});
