/** Verbs of a storm that nobody does: time passes, the daemon ends and begins. */

import assert from "node:assert/strict";
import type { Storm, Verb } from "../storm.ts";
import { flood } from "./messages.ts";

const DAY = 86_400;

// deno-fmt-ignore
export const ABOUT_THE_WORLD: readonly Verb[] = [
  { name: "a second",    weight: 14, run: (storm) => storm.beat() },
  { name: "a minute",    weight: 6,  run: (storm) => storm.beat(61) },
  { name: "ten minutes", weight: 2,  run: (storm) => storm.beat(601) },
  { name: "a day",       weight: 1,  run: (storm) => days(storm, 1) },
  { name: "a month",     weight: 1,  run: (storm) => days(storm, 31) },
  { name: "a slow rung ends", weight: 14, run: (storm) => Promise.resolve(storm.ladder.hurry()) },
  { name: "follow the stream", weight: 6, run: follow },
  { name: "restart",     weight: 2,  run: (storm) => storm.restart() },
  { name: "crash",       weight: 2,  run: (storm) => storm.crash(() => Promise.resolve()) },
  { name: "crash in a flood", weight: 3, run: (storm) => storm.crash(() => flood(storm)) },
];

/** A reader comes back to where it left: it is told all that came since, or of the gap. */
async function follow(storm: Storm): Promise<void> {
  const { last } = storm.w.daemon.ground.events;
  const gone = new AbortController();
  const init = { headers: { "last-event-id": String(storm.followed) }, signal: gone.signal };
  const { body } = await storm.w.fetch("/events/stream", init);
  assert.ok(body);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  while (storm.followed < last) {
    const text = decoder.decode((await reader.read()).value);
    const [, gap] = /^event: gap\ndata: {"oldest":(\d+)}/.exec(text) ?? [];
    const [, id] = /^id: (\d+)$/m.exec(text) ?? [];
    if (gap) storm.followed = Number(gap) - 1;
    else if (id) assert.equal(Number(id), ++storm.followed, "The stream left something out");
  }
  gone.abort();
  await reader.cancel();
}

/** So long that all is due; what is due in one beat is bounded, so there are some. */
async function days(storm: Storm, count: number): Promise<void> {
  await storm.beat(count * DAY + 1);
  for (let beat = 0; beat < 3; beat++) await storm.beat();
}
