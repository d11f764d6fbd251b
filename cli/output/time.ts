/** Formats durations, and instants in local time with the zone's offset. */

import type { Clock } from "kit/core/clock.ts";
import { formatDuration } from "kit/core/duration.ts";
import { dateOf, isValid, offsetOf, timeOf } from "kit/core/local_time.ts";

export { formatDuration } from "kit/core/duration.ts";
export { formatInstant } from "kit/core/local_time.ts";

/** The time since something, in words. */
export function formatAgo(ms: number): string {
  return ms < 1000 ? "just now" : `${formatDuration(ms)} ago`;
}

/** The age of the last sign of life on a connection, in words. */
export function formatHeard(ms: number): string {
  return `last heard ${formatAgo(ms)}`;
}

export function formatAge(instant: string | null, clock: Clock): string {
  return instant === null ? "" : formatDuration(clock.now() - Date.parse(instant));
}

/** Local time of day with milliseconds and the offset: `14:05:09.123 +01:00`. */
export function formatClockTime(instant: string): string {
  const at = new Date(instant);
  if (!isValid(at)) return instant;
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  return `${timeOf(at)}.${ms} ${offsetOf(at)}`;
}

/** The width of `formatClockTime`, in columns. */
export const CLOCK_TIME_COLUMNS = "14:05:09.123 +01:00".length;

/** The local time, with the date unless it is today. */
export function formatDayTime(instant: string, clock: Clock): string {
  const at = new Date(instant), now = new Date(clock.now());
  if (!isValid(at)) return instant;
  const isToday = dateOf(at) === dateOf(now);
  return isToday ? `${timeOf(at)} ${offsetOf(at)}` : `${dateOf(at)} ${timeOf(at).slice(0, 5)}`;
}
