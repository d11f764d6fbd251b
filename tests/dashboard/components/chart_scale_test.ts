/** The scale of a chart: its lines, and the stretches of known values. */

import assert from "node:assert/strict";
import { runsOf, scaleOf } from "../../../dashboard/components/chart_scale.ts";

Deno.test("a chart of counts has lines at whole round numbers", () => {
  assert.deepEqual(scaleOf([0, null, 1], false).ticks, [0, 1]);
  assert.deepEqual(scaleOf([59, 3], false).ticks, [0, 20, 40, 60]);
  assert.deepEqual(scaleOf([1900], false).ticks, [0, 1000, 2000]);
  assert.deepEqual(scaleOf([null], false).ticks, [0, 1]);
});

Deno.test("a chart of times has lines at 0 and at the three highest powers of ten", () => {
  assert.deepEqual(scaleOf([3], true).ticks, [0, 1]);
  assert.deepEqual(scaleOf([4, 604_000_000], true).ticks, [0, 1e6, 1e7, 1e8]);
});

Deno.test("0 is at the bottom of a chart, and the largest value below its top", () => {
  for (const wide of [false, true]) {
    const { toY } = scaleOf([5, 1000], wide);
    assert.equal(toY(0), 1);
    assert.ok(toY(1000) > 0 && toY(1000) < 0.1);
    assert.ok(toY(5) > toY(1000));
  }
});

Deno.test("a line ends at an unknown value, and begins again after it", () => {
  const values = [1, 2, null, 3, null, null];
  assert.deepEqual(runsOf(values, (value) => value), [[[0, 1], [1, 2]], [[3, 3]]]);
});
