/** A year of recurring messages, checked against days and offsets computed by the test. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { schedule } from "../../../support/daemon/schedules.ts";

const HOUR_MS = 3_600_000, DAY_MS = 24 * HOUR_MS;
const YEAR = 2030, DAYS = 365;
const STEP_MS = HOUR_MS / 2;

const utc = (month: number, day: number, hours: number) =>
  Date.UTC(YEAR, month - 1, day, 0) + hours * HOUR_MS;

/** European summer time: from the last Sunday of March to the last Sunday of October. */
const BERLIN = { from: utc(3, 31, 1), to: utc(10, 27, 1), winter: 1, summer: 2 };
/** US summer time: second Sunday of March to first Sunday of November, at 2:00 local time. */
const NEW_YORK = { from: utc(3, 10, 7), to: utc(11, 3, 6), winter: -5, summer: -4 };

/** When the wall clock shows a time, in hours; the spring change where it skips that time. */
function instant({ from, to, winter, summer }: typeof BERLIN, day: number, hours: number): number {
  const wallClock = day + hours * HOUR_MS;
  const inWinter = wallClock - winter * HOUR_MS, inSummer = wallClock - summer * HOUR_MS;
  if (inSummer >= from && inSummer < to) return inSummer; // In autumn the first of the two.
  return inWinter >= from && inSummer < from ? from : inWinter;
}

/** All fires of the year, one per matching day. */
function expectedFires(
  zone: typeof BERLIN,
  hours: number,
  counts: (weekday: number) => boolean,
): string[] {
  const first = utc(1, 1, 0);
  const days = Array.from({ length: DAYS + 1 }, (_, at) => first + at * DAY_MS);
  return days.filter((day) => counts(new Date(day).getUTCDay()))
    .map((day) => instant(zone, day, hours))
    .filter((at) => at > first && at <= first + DAYS * DAY_MS)
    .map((at) => new Date(at).toISOString());
}

// deno-fmt-ignore
const PATTERNS = [
  ["30 2 * * *",   "Europe/Berlin",    expectedFires(BERLIN,   2.5, () => true)],
  ["0 9 * * 1-5",  "Europe/Berlin",    expectedFires(BERLIN,   9,   (weekday) => weekday % 6 > 0)],
  ["30 2 * * *",   "America/New_York", expectedFires(NEW_YORK, 2.5, () => true)],
  ["30 1 * * 0",   "America/New_York", expectedFires(NEW_YORK, 1.5, (weekday) => weekday === 0)],
  ["30 0 * * *",   "UTC",              expectedFires({ ...BERLIN, winter: 0, summer: 0 }, 0.5, () => true)],
] as const;

Deno.test("a schedule follows the wall clock for a year, through both clock changes [c2.schedule.year]", async () => {
  await using w = world({ clock: new SwiftClock() });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const made: string[] = [];
  for (const [cron, timezone] of PATTERNS) {
    made.push((await schedule(w, { cron, timezone })).schedule_id);
  }
  for (let at = STEP_MS; at <= DAYS * DAY_MS; at += STEP_MS) {
    await w.clock.advance(STEP_MS);
    w.daemon.schedules.tick(w.clock.now());
    if (at % DAY_MS === 0) w.daemon.tick(); // The other features need no tick that often.
    await w.daemon.ctx.db.whenDurable();
  }
  for (const [index, [cron, timezone, fires]] of PATTERNS.entries()) {
    const fired = w.events.flatMap((event) =>
      event.type === "schedule_fired" && event.data.schedule_id === made[index]
        ? [new Date(event.at).toISOString()]
        : []
    );
    assert.deepEqual(fired, fires, `${cron} in ${timezone}`);
  }
  const changed = PATTERNS[0][2].filter((at) => /^2030-(03-31|10-27)/.test(at));
  assert.deepEqual(changed, ["2030-03-31T01:00:00.000Z", "2030-10-27T00:30:00.000Z"]);
});
