/** The calendar of schedules. */

import assert from "node:assert/strict";
import type { Schedule } from "../../../../dashboard/state/records.ts";
import { agendaOf, dayText } from "../../../../dashboard/views/schedules/agenda.ts";

const NOON = new Date(2026, 0, 5, 12).getTime();
const HOUR_MS = 3_600_000;

function scheduleOf(schedule_id: string, hours: number, cron: string | null = null): Schedule {
  return {
    schedule_id,
    from_peer: "ada",
    to_peer: "bob",
    text: "Hello",
    kind: "notify",
    digest: false,
    fire_at: null,
    cron,
    timezone: null,
    circle: null,
    state: "active",
    next_fire_at: new Date(NOON + hours * HOUR_MS).toISOString(),
    last_fired_at: null,
    from_peer_id: null,
    from_peer_name: "ada",
    last_outcome: null,
    last_error: null,
    last_message_id: null,
    created_at: new Date(NOON).toISOString(),
  };
}

Deno.test("fires are listed by day, in the order of their times", () => {
  const days = agendaOf([scheduleOf("late", 30), scheduleOf("b", 2), scheduleOf("a", 1)], NOON);
  assert.deepEqual(
    days.map(({ begins, fires }) => [
      dayText(begins, NOON),
      fires.map(({ schedule }) => schedule.schedule_id).join(" "),
    ]),
    [["Today", "a b"], ["Tomorrow", "late"]],
  );
});

Deno.test("a recurring schedule is listed with its next five times, within two weeks", () => {
  const daily = agendaOf([scheduleOf("daily", 1, "@daily")], NOON);
  assert.equal(daily.flatMap(({ fires }) => fires).length, 5);
  const monthly = agendaOf([scheduleOf("monthly", 1, "@monthly")], NOON).flatMap(({ fires }) =>
    fires
  );
  assert.deepEqual(monthly.map(({ repeated }) => repeated), [false]);
});

Deno.test("a schedule that has ended is not in the calendar", () => {
  assert.deepEqual(agendaOf([{ ...scheduleOf("ended", 1), next_fire_at: null }], NOON), []);
});

Deno.test("a day of this week has its name and its date", () => {
  assert.equal(dayText(new Date(2026, 0, 9).getTime(), NOON), "Friday 9 January");
});
