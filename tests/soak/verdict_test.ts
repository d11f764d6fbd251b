/** The verdict of a soak run: it reports leaks, and ignores noise. */

import assert from "node:assert/strict";
import { Chance } from "../support/seeded_random.ts";
import type { Sample } from "./samples.ts";
import { judge } from "./verdict.ts";

const HOUR_MS = 3_600_000;
/** Samples of an hour with 20 messages a second. */
const SAMPLES = 120;
const MESSAGES = 72_000;
const STEADY: Sample = {
  messages: 0,
  kept: 1000,
  resident_mb: 150,
  heap_mb: 40,
  timers: 60,
  descriptors: 30,
  children: 2,
  panes: 4,
  used_bytes: 4e6,
  message_bytes: 1e6,
  event_bytes: 3e5,
  events: 1000,
};

/** The figures that are reported, in an hour whose samples differ from the steady state. */
function unsound(differ: (part: number, random: () => number) => Partial<Sample>): string[] {
  const chance = new Chance(15);
  const next = () => chance.next();
  const samples = Array.from({ length: SAMPLES }, (_, at): Sample => {
    const part = at / (SAMPLES - 1);
    return { ...STEADY, messages: Math.round(MESSAGES * part), ...differ(part, next) };
  });
  return judge(samples, HOUR_MS).filter(({ sound }) => !sound).map(({ what }) => what);
}

const noisy = (random: () => number) => 40 + 8 * (random() - 0.5);

Deno.test("a heap that is noisy, has outliers, fills caches or steps once is sound", () => {
  const heaps: Record<string, (part: number, random: () => number) => number> = {
    noise: (_, random) => noisy(random),
    "high samples beside other work": (part, random) =>
      noisy(random) + (part > 0.8 && random() < 0.6 ? 30 : 0),
    "a high last sample": (part, random) => noisy(random) + (part === 1 ? 25 : 0),
    "a low first sample": (part, random) => noisy(random) - (part === 0 ? 25 : 0),
    "caches that fill": (part, random) => noisy(random) + 20 * (1 - Math.exp(-8 * part)),
    "one step": (part, random) => noisy(random) + (part > 0.3 ? 12 : 0),
    "a saw": (part) => 40 + 10 * ((part * 17) % 1),
    "less and less": (part, random) => noisy(random) - 10 * part,
  };
  for (const [what, heap] of Object.entries(heaps)) {
    assert.deepEqual(unsound((part, random) => ({ heap_mb: heap(part, random) })), [], what);
  }
});

Deno.test("a leak is found in the noise: records, whole messages, a late leak, and resident memory", () => {
  const leak = (bytes: number, part: number) => bytes * MESSAGES * part / 2 ** 20;
  const heaps: Record<string, (part: number) => number> = {
    "150 bytes a message": (part) => leak(150, part),
    "1 KiB a message": (part) => leak(1024, part),
    "a leak that begins late": (part) => leak(1024, Math.max(0, part - 0.4)),
    "a leak with collections": (part) => leak(300, part) + 6 * ((part * 13) % 1),
  };
  for (const [what, heap] of Object.entries(heaps)) {
    const found = unsound((part, random) => ({ heap_mb: noisy(random) + heap(part) }));
    assert.deepEqual(found, ["heap, MB"], what);
  }
  assert.deepEqual(unsound((part) => ({ resident_mb: 150 + 90 * part })), ["resident memory, MB"]);
});

Deno.test("timers, descriptors, processes and panes that are left are found", () => {
  const left: [Partial<Record<keyof Sample, number>>, string][] = [
    [{ timers: 60 }, "timers"],
    [{ descriptors: 30 }, "descriptors"],
    [{ children: 6 }, "child processes"],
    [{ panes: 8 }, "panes"],
  ];
  for (const [growth, what] of left) {
    const found = unsound((part, random) =>
      Object.fromEntries(
        Object.entries(growth).map(([key, more]) => [
          key,
          Math.round(STEADY[key as keyof Sample] + more * part + random()),
        ]),
      )
    );
    assert.deepEqual(found, [what]);
  }
});

Deno.test("a run of two minutes with a few samples is judged, too", () => {
  const at = (part: number, heap_mb: number): Sample => ({
    ...STEADY,
    messages: 2800 * part,
    heap_mb,
  });
  const heaps = [40, 41, 45, 44, 39, 44.6, 43, 41];
  const samples = heaps.map((heap, index) => at(index / 7, heap));
  assert.ok(judge(samples, 70_000).every(({ sound }) => sound));
  const leaking = heaps.map((heap, index) => at(index / 7, heap + index * 4));
  assert.deepEqual(
    judge(leaking, 70_000).filter(({ sound }) => !sound).map(({ what }) => what),
    ["heap, MB"],
  );
  assert.ok(judge([STEADY], 70_000).every(({ sound }) => sound));
});
