/** The daemon is killed in the middle of a flood: what it acknowledged is there, and said once. */

import assert from "node:assert/strict";
import { storm } from "./storm.ts";

const KILLS = 5;

Deno.test("what a daemon acknowledged outlives five kills, and nothing is said twice", async () => {
  const seed = Date.now() % 1_000_000;
  const outcome = await storm(KILLS, seed);
  const { acknowledged, lost, undelivered, doubled, unaccounted, integrity } = outcome;
  assert.ok(acknowledged > 0, "Nothing was acknowledged");
  assert.deepEqual(
    { lost, undelivered, doubled, unaccounted, integrity },
    { lost: 0, undelivered: 0, doubled: 0, unaccounted: 0, integrity: "ok" },
    `seed ${seed}`,
  );
});
