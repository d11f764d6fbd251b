/** Kills the daemon during a burst of messages: what it acknowledged is kept, and sent once. */

import assert from "node:assert/strict";
import { storm } from "./kill_storm.ts";

const KILLS = 25;
/** A start that takes longer hangs; the bench measures starts. */
const START_MS_MAX = 30_000;

Deno.test("acknowledged messages survive 25 kills, and nothing is sent twice [c2.ask.durable]", async () => {
  const seed = Date.now() % 1_000_000;
  const { kills: _, repeats: __, acknowledged, slowest_start_ms, ...outcome } = await storm(
    KILLS,
    seed,
  );
  assert.ok(acknowledged > 0, "Nothing was acknowledged");
  assert.deepEqual(
    outcome,
    {
      lost: 0,
      undelivered: 0,
      applied_twice: 0,
      sent_twice: 0,
      out_of_order: 0,
      unlisted: 0,
      unaccounted: 0,
      integrity: "ok",
    },
    `seed ${seed}`,
  );
  assert.ok(slowest_start_ms <= START_MS_MAX, `A start took ${Math.round(slowest_start_ms)} ms`);
});
