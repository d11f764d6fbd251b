import assert from "node:assert/strict";
import { shrink } from "./shrink.ts";
import { stepsUpTo } from "./run_storm.ts";

for (const needed of [[3], [1, 40], [7, 8, 25], [2, 5, 19, 33, 38]]) {
  Deno.test(`a list of 40 steps shrinks to ${needed.join(", ")}, which alone break it`, async () => {
    const fails = (steps: readonly number[]) =>
      Promise.resolve(needed.every((step) => steps.includes(step)));
    assert.deepEqual(await shrink(stepsUpTo(40), fails), needed);
  });
}
