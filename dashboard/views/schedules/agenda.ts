/** The calendar of schedules: the next fires by day, in the reader's time zone. */

import { nextFires } from "../../components/time/times.ts";
import type { Schedule } from "../../state/records.ts";

/** Maximum entries of one recurring schedule. */
const FIRES_EACH = 5;
/** The time ahead for which recurring schedules are listed; single ones have no such limit. */
const DAYS = 14;
const DAY_MS = 86_400_000;

/** One fire of a schedule. */
export interface Fire {
  readonly at: number;
  readonly schedule: Schedule;
  /** True if the schedule also fires before this fire. */
  readonly repeated: boolean;
}

export interface Day {
  /** Midnight at its begin, in the reader's time zone. */
  readonly begins: number;
  readonly fires: readonly Fire[];
}

/** The days on which something fires, in order. */
export function agendaOf(schedules: readonly Schedule[], now: number): Day[] {
  const fires = schedules.flatMap((schedule) => firesOf(schedule, now));
  const by_day = Map.groupBy(fires.sort((a, b) => a.at - b.at), ({ at }) => midnight(at));
  return [...by_day].map(([begins, of]) => ({ begins, fires: of }));
}

function firesOf(schedule: Schedule, now: number): Fire[] {
  const { cron, timezone, next_fire_at } = schedule;
  if (next_fire_at === null) return [];
  const first = Date.parse(next_fire_at);
  if (cron === null) return [{ at: first, schedule, repeated: false }];
  const later = nextFires(cron, timezone ?? "UTC", first, FIRES_EACH - 1);
  return [first, ...later.filter((at) => at < now + DAYS * DAY_MS)]
    .map((at, index) => ({ at, schedule, repeated: index > 0 }));
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

/** `Today`, `Tomorrow`, or the day itself. */
export function dayText(begins: number, now: number): string {
  const days = Math.round((begins - midnight(now)) / DAY_MS);
  if (days <= 1) return days === 1 ? "Tomorrow" : days === 0 ? "Today" : "Overdue";
  const options = { weekday: "long", day: "numeric", month: "long" } as const;
  return new Date(begins).toLocaleDateString("en-GB", options);
}
