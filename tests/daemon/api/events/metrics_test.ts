/** The daemon's metrics: delivery times since the start. */

import assert from "node:assert/strict";
import { Meters } from "../../../../daemon/api/events/metrics.ts";
import { FakeClock } from "../../../support/clock.ts";

function meters(): Meters {
  const meters = new Meters(new FakeClock());
  meters.addGauges(() => ({ peers: 0, sockets: 0, commits: 0, queue: {}, jobs: {} }));
  return meters;
}

Deno.test("delivery times are counted in buckets from half a millisecond to five minutes", () => {
  const m = meters();
  for (const ms of [0, 1, 1, 7, 301_000]) m.stepped("ask", "sent", ms);
  const text = m.render();
  const bucket = (le: string) =>
    new RegExp(`^mesh_delivery_seconds_bucket{le="${le}"} (.*)$`, "m").exec(text)?.[1];
  const seen = ["0.0005", "0.001", "0.005", "0.01", "300", "\\+Inf"].map(bucket);
  assert.deepEqual(seen, ["1", "3", "3", "4", "4", "5"]);
  assert.match(text, /^mesh_delivery_seconds_sum 301.009$/m);
});

Deno.test("reading the metrics resets none of them", () => {
  const m = meters();
  for (let read = 0; read < 2; read++) {
    m.stepped("ask", "sent", 3);
    m.render();
  }
  assert.match(m.render(), /^mesh_delivery_seconds_count 2$/m);
  assert.match(m.render(), /^mesh_delivery_steps_total\{kind="ask",state="sent"\} 2$/m);
});
