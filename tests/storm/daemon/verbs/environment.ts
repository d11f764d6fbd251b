/** Verbs of the environment: time passes, the daemon restarts or loses its power. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { Storm, Verb } from "../storm.ts";
import { crash } from "../crashes.ts";
import { copyDatabase, goBack } from "../restores.ts";
import { flood } from "./messages.ts";

const DAY = 86_400;

// deno-fmt-ignore
export const ENVIRONMENT_VERBS: readonly Verb[] = [
  { name: "a second",    weight: 14, run: (storm) => storm.tick() },
  { name: "a minute",    weight: 6,  run: (storm) => storm.tick(61) },
  { name: "ten minutes", weight: 2,  run: (storm) => storm.tick(601) },
  { name: "a day",       weight: 1,  run: (storm) => advanceDays(storm, 1) },
  { name: "a month",     weight: 1,  run: (storm) => advanceDays(storm, 31) },
  { name: "release slow deliveries", weight: 14, run: (storm) => Promise.resolve(storm.adapter.releaseSlow()) },
  { name: "follow the stream", weight: 6, run: readStream },
  { name: "a backup is made", weight: 6, run: copyDatabase },
  { name: "the state goes back", weight: 10, run: goBack },
  { name: "restart",     weight: 2,  run: (storm) => storm.restart() },
  { name: "crash",       weight: 2,  run: (storm) => crash(storm, () => Promise.resolve()) },
  { name: "crash in a burst", weight: 3, run: (storm) => crash(storm, () => flood(storm)) },
];

/**
 * A reader resumes at its last event, and gets every later event. It gets the gap, too, if later
 * events were removed, or if a restore has lost its last event; then it loads everything again.
 */
async function readStream(storm: Storm): Promise<void> {
  const { db, events } = storm.w.daemon.ctx;
  const { event_ids, last_streamed_event: since } = storm;
  const frames = await framesAfter(storm, since);
  const stored = db.values(z.number(), "select id from events order by id");
  const later = stored.filter((id) => id > Math.min(since, events.last));
  const ids = [...frames.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  assert.deepEqual(ids, later, "The stream differs from the log");
  const isKnown = since === 0 || event_ids.includes(since);
  const hasGap = !isKnown || event_ids.find((id) => id > since) !== later[0];
  const [, oldest] = /^event: gap\ndata: {"oldest":(\d+)}$/m.exec(frames) ?? [];
  assert.equal(oldest, hasGap ? String(stored[0] ?? 0) : undefined, `The gap after ${since}`);
  storm.last_streamed_event = events.last;
}

/** The frames that a reader gets at once. */
async function framesAfter(storm: Storm, since: number): Promise<string> {
  const abort = new AbortController();
  const init = { headers: { "last-event-id": String(since) }, signal: abort.signal };
  const { body } = await storm.w.fetch("/events/stream", init);
  assert.ok(body);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let frames = "";
  for (;;) {
    const quiet = storm.w.clock.settle().then(() => undefined);
    const part = await Promise.race([reader.read(), quiet]);
    if (!part || part.done) break;
    frames += decoder.decode(part.value, { stream: true });
  }
  abort.abort();
  await reader.cancel();
  return frames;
}

/** Ticks several times at the end: one tick handles a limited number of due things. */
async function advanceDays(storm: Storm, count: number): Promise<void> {
  storm.keyed.length = 0; // Keys are kept for a day.
  await storm.tick(count * DAY + 1);
  for (let tick = 0; tick < 3; tick++) await storm.tick();
}
