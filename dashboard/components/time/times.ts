/** Times in the reader's time zone, and the times at which a pattern fires. */

import { nextFire } from "kit/core/cron_pattern.ts";

const FIRES = 5;

/** The next instants after `after` at which a pattern fires, in milliseconds. */
export function nextFires(cron: string, timezone: string, after: number, count = FIRES): number[] {
  const found: number[] = [];
  for (let at = after; found.length < count;) {
    const next = fireAfter(cron, timezone, at);
    if (next === undefined) break;
    found.push(next);
    at = next;
  }
  return found;
}

/** Also undefined for an invalid pattern, or a time zone that this browser does not know. */
function fireAfter(cron: string, timezone: string, after: number): number | undefined {
  try {
    return nextFire(cron, timezone, after);
  } catch {
    return undefined;
  }
}

/** The day and the time in the reader's time zone, such as `Mon 23 Nov, 03:00`. */
export function momentText(at: number): string {
  const day = { weekday: "short", day: "numeric", month: "short" } as const;
  const time = { hour: "2-digit", minute: "2-digit", hour12: false } as const;
  return new Date(at).toLocaleString("en-GB", { ...day, ...time });
}

/** The reader's own time zone. */
export const TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
