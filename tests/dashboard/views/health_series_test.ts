/** The last hour as lines of charts. */

import assert from "node:assert/strict";
import type { Figures } from "../../../dashboard/state/records.ts";
import {
  bytesText,
  chartsOf,
  countText,
  timeText,
} from "../../../dashboard/views/health_series.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 30, 20);
const minuteAt = (before: number) => new Date(Date.UTC(2026, 0, 1, 12, 30 - before)).toISOString();

const FIGURES: Figures = {
  started_at: minuteAt(10),
  sent_ms: null,
  seen_ms: null,
  queued: 0,
  database_bytes: 0,
  minutes: [{
    at: minuteAt(3),
    sent: 4,
    seen: 2,
    lost: 1,
    queued: 5,
    sent_ms: { p50: 3, p99: 9 },
    seen_ms: null,
  }],
};

Deno.test("an hour has sixty minutes, of which the last is now", () => {
  const { times, throughput, queue } = chartsOf(FIGURES, NOW);
  for (const chart of [times, throughput, queue]) {
    assert.equal(chart.times.length, 60);
    assert.equal(chart.times.at(-1), Date.UTC(2026, 0, 1, 12, 30) / 1000);
    assert.ok(chart.lines.every(({ values }) => values.length === 60));
  }
});

Deno.test("a quiet minute has no messages; of a time before the start nothing is known", () => {
  const { times, throughput, queue } = chartsOf(FIGURES, NOW);
  const sent = throughput.lines[0]?.values ?? [];
  assert.deepEqual([sent[56], sent[57], sent[49], sent[48]], [4, 0, 0, null]);
  assert.deepEqual(times.lines.map(({ values }) => values[56]), [3, 9, null, null]);
  assert.deepEqual([queue.lines[0]?.values[56], queue.lines[0]?.values[57]], [5, null]);
});

Deno.test("values have a unit that fits them", () => {
  assert.deepEqual([3, 999, 1234, 90_000, 5_400_000].map(timeText), [
    "3 ms",
    "999 ms",
    "1.2 s",
    "2 min",
    "1.5 h",
  ]);
  assert.deepEqual([4096, 1_572_864, 3_221_225_472].map(bytesText), ["4 kB", "1.5 MB", "3.00 GB"]);
  assert.deepEqual([1234, 0.5].map(countText), ["1,234", ""]);
});
