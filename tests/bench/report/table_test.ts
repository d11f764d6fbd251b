/** The bench's table, and the comparison with an earlier run. */

import assert from "node:assert/strict";
import { type Figure, interleave, isWithinBudget, ratioOf, summaryOf } from "./figures.ts";
import { COLUMNS, comparisonLines, headLine, linesOf } from "./table.ts";

const ASKS: Figure = {
  what: "asks a second, 64 in flight",
  unit: "/s",
  ours: [6_400, 3_200, 7_600],
  yardstick: { name: "durable", samples: [32_000, 10_000, 40_000] },
  budget: { of: "ratio", min: 0.45 },
};

Deno.test("a ratio is the median of the rounds' ratios, not the ratio of the medians", () => {
  assert.equal(ratioOf(ASKS), 0.2);
});

Deno.test("the median of an even number of samples lies between the two in the middle", () => {
  assert.deepEqual(summaryOf([4, 1, 3, 2]), { median: 2.5, min: 1, max: 4 });
});

Deno.test("a budget limits the ratio or our own value, from above or from below", () => {
  assert.equal(isWithinBudget(ASKS), false);
  assert.equal(isWithinBudget({ ...ASKS, budget: { of: "ratio", min: 0.2 } }), true);
  assert.equal(isWithinBudget({ ...ASKS, budget: { of: "value", max: 6_399 } }), false);
  assert.equal(isWithinBudget({ ...ASKS, budget: { of: "value", max: 6_400 } }), true);
  const { budget: _, ...without } = ASKS;
  assert.equal(isWithinBudget(without), undefined);
});

Deno.test("rounds alternate, and the first of each is not counted", async () => {
  const order: string[] = [];
  const run = (name: string) => () => Promise.resolve(order.push(name));
  const { ours, bare } = await interleave(2, { ours: run("ours"), bare: run("bare") });
  assert.deepEqual(order, ["ours", "bare", "ours", "bare", "ours", "bare"]);
  assert.deepEqual([ours, bare], [[3, 5], [4, 6]]);
});

Deno.test("rows, notes and details fit the table's width", () => {
  const wide: Figure = {
    what: "a name that is much longer than the column that it has to fit into",
    unit: "/s",
    ours: [12_345, 10_000, 20_000],
    yardstick: { name: "a yardstick with a long name", samples: [234_567, 199_999, 900_000] },
    budget: { of: "value", max: 2_000 },
    note: "word ".repeat(60).trim(),
    details: [{ what: "beside bare", unit: "µs", ours: [0.123456, 0.1, 0.2] }],
  };
  const lines = [headLine(), ...linesOf(wide), ...linesOf(ASKS)];
  assert.ok(lines.every((line) => line.length <= COLUMNS), lines.join("\n"));
  assert.match(lines.at(-1) ?? "", /6,400 \(3,200–7,600\) \/s .* 0\.2 +≥ 0\.45 +over$/);
});

Deno.test("a comparison lists what both runs have, details included, with its change", () => {
  const detail = { what: "processor time", unit: "µs", ours: [150] };
  const before = [{ ...ASKS, details: [detail] }, { ...ASKS, what: "removed since" }];
  const after = [{ ...ASKS, ours: [7_680, 3_840, 9_120], details: [{ ...detail, ours: [120] }] }];
  const [, asks = "", cpu = "", ...rest] = comparisonLines(before, after);
  assert.match(asks, /^asks a second, 64 in flight, \/s +6,400 +7,680 +\+20 % +0\.2 +0\.24$/);
  assert.match(cpu, /^asks a second, 64 in flight: processor time, µs +150 +120 +-20 %$/);
  assert.deepEqual(rest, []);
  assert.ok(asks.length <= COLUMNS);
});
