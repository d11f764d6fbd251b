/** Verbs of the environment: time passes, the daemon restarts or loses its power. */

import assert from "node:assert/strict";
import { followerOf } from "../../../../daemon/data/run_numbers.ts";
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
 * A reader resumes at its last event: it gets every later event, or the gap. A restore may have
 * removed that event; then the reader gets the gap, and loads everything again.
 */
async function readStream(storm: Storm): Promise<void> {
  const { db, events: { last } } = storm.w.daemon.ctx;
  const abort = new AbortController();
  const init = {
    headers: { "last-event-id": String(storm.last_streamed_event) },
    signal: abort.signal,
  };
  const { body } = await storm.w.fetch("/events/stream", init);
  assert.ok(body);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  while (storm.last_streamed_event !== last) {
    const text = decoder.decode((await reader.read()).value);
    const [, gap] = /^event: gap\ndata: {"oldest":(\d+)}/.exec(text) ?? [];
    const [, id] = /^id: (\d+)$/m.exec(text) ?? [];
    if (gap) {
      const isLost = storm.lost.has(`event ${storm.last_streamed_event}`);
      storm.last_streamed_event = isLost ? last : Number(gap) - 1;
    } else if (id) {
      const next = followerOf(db, "events", storm.last_streamed_event);
      assert.equal(Number(id), next, "The stream left out an event");
      storm.last_streamed_event = next;
    }
  }
  abort.abort();
  await reader.cancel();
}

/** Ticks several times at the end: one tick handles a limited number of due things. */
async function advanceDays(storm: Storm, count: number): Promise<void> {
  storm.keyed.length = 0; // Keys are kept for a day.
  await storm.tick(count * DAY + 1);
  for (let tick = 0; tick < 3; tick++) await storm.tick();
}
