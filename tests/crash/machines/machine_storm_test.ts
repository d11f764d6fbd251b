/** The short form of the storm in which machines, their server and a leaf node are killed. */

import assert from "node:assert/strict";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { machineStorm } from "./machine_storm.ts";

const SEEDS = 4;

natsTest("a message accepted for another machine survives kills, and arrives once", async () => {
  const first = Date.now() % 1_000_000;
  const complaints: string[] = [];
  const outcome = await machineStorm({ seeds: SEEDS, first }, (line) => complaints.push(line));
  const { seeds: _, kills: __, accepted, answers, slowest_recovery_ms: ___, ...failures } = outcome;
  assert.ok(accepted > 0 && answers > 0, "Nothing was accepted");
  assert.deepEqual(
    failures,
    {
      lost_at_origin: 0,
      lost_on_the_way: 0,
      twice: 0,
      invented: 0,
      undelivered: 0,
      answers_lost: 0,
      traces_differ: 0,
      out_of_order: 0,
      unaccounted: 0,
      stuck: 0,
    },
    complaints.join("\n"),
  );
});
