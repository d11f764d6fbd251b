/** The sizes of the scale proof, the power by which a time grew, and its plots. */

import assert from "node:assert/strict";
import { exponentOf, type Growth, sizesUpTo } from "./growth.ts";
import { panels } from "./panels.ts";
import { format, tablesOf } from "./table.ts";

const growthWith = (times: readonly number[]): Growth => ({
  what: "list <all>",
  of: "messages",
  points: times.map((ms, at) => ({ n: 100 * 2 ** at, ms, block_ms: 2 })),
});

Deno.test("each size is half of the next", () => {
  assert.deepEqual(sizesUpTo(1000, { sizes: 4 }), [125, 250, 500, 1000]);
});

Deno.test("the power of the growth is 0 for the same time, and 1 if it doubles with the size", () => {
  assert.equal(exponentOf(growthWith([3, 3, 3])), 0);
  assert.equal(exponentOf(growthWith([3, 6, 12])), 1);
  assert.equal(exponentOf(growthWith([3, 12])), 2);
  assert.equal(exponentOf(growthWith([3])), undefined);
});

Deno.test("a table has a column for each size, and the delay of deliveries at the largest size", () => {
  const part = {
    growth: [growthWith([3, 6])],
    singles: [{ what: "rate", value: 1234.5, unit: "/s" }],
  };
  const machine = undefined as never;
  const lines = tablesOf({ ...part, part: "p", at: "", machine, busy: 0, remarks: [] });
  assert.match(lines[0] ?? "", /^\| messages\s+\| 100 \| 200 \|/);
  assert.match(lines[2] ?? "", /^\| list <all> \| 3 {3}\| 6 {3}\| n\^1\.0 .*\| 2 ms/);
  assert.match(lines.at(-1) ?? "", /1,235 \/s/);
  assert.equal(format(undefined), "");
});

Deno.test("a picture has a panel for each operation, and its texts are escaped", () => {
  const picture = panels("Growth", [growthWith([3, 6]), growthWith([1, 1])]);
  assert.equal(picture.match(/<g transform/g)?.length, 2);
  assert.match(picture, /list &lt;all>/);
  assert.match(picture, /prefers-color-scheme:dark/);
  assert.doesNotMatch(picture, /NaN|Infinity|undefined/);
});
