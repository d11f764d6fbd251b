/** How long messages took, counted from the first and told when somebody reads. */

import assert from "node:assert/strict";
import { Meters } from "../../daemon/events/meters.ts";

const meters = () => new Meters(() => ({ peers: 0, sockets: 0, commits: 0, queue: {}, jobs: {} }));
const told = (text: string) => text.split("\n").filter((line) => /^mesh_delivery_sec/.test(line));

Deno.test("times stand in the first bucket that is long enough, and in all longer ones", async () => {
  const m = meters();
  for (const ms of [0, 1, 1, 7, 301_000]) m.took(ms);
  const lines = told(await m.render());
  const of = (name: string) => lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1];
  const bucket = (le: string) => of(`mesh_delivery_seconds_bucket{le="${le}"}`);
  const seen = ["0.0005", "0.001", "0.005", "0.01", "300", "+Inf"].map(bucket);
  assert.deepEqual(seen, ["1", "3", "3", "4", "4", "5"]);
  assert.equal(of("mesh_delivery_seconds_sum"), "301.009");
  assert.equal(of("mesh_delivery_seconds_count"), "5");
});

Deno.test("times are told again in full, and every line of numbers has its type before it", async () => {
  const m = meters();
  m.took(3);
  await m.render();
  m.took(3);
  const text = await m.render();
  assert.match(text, /^mesh_delivery_seconds_count 2$/m);
  assert.match(text, /\n# HELP mesh_delivery_seconds .*\n# TYPE mesh_delivery_seconds histogram\n/);
  assert.equal(text.match(/^mesh_delivery_seconds_bucket/gm)?.length, 13);
});
