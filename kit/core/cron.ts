/** Cron patterns and time zones, for recurring jobs and schedules. */

import { Cron as Pattern } from "croner";
import * as z from "zod";

const FIELDS = 5;
const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];
const ALLOWED = `five fields (minute hour day month weekday), or one of ${NICKNAMES.join(", ")}`;

/**
 * A cron pattern. If both day of month and day of week are given, either may match, as in every
 * cron. A pattern that never fires, such as the 30th of February, is invalid.
 */
export const Cron = z.string().trim().superRefine((pattern, issues) => {
  const error = problemOf(pattern);
  if (error) issues.addIssue({ code: "custom", message: error, input: pattern });
});

/** A name of the IANA time zone database. */
export const Timezone = z.string().refine(isTimezone, "an IANA time zone, such as Europe/Berlin");

/**
 * The first instant after `after` at which the pattern fires; undefined if there is none. If the
 * spring clock change skips a wall-clock time, the pattern fires at the change. If the autumn
 * change repeats a wall-clock time, the pattern fires the first time only. Neither change affects a
 * pattern with an interval, such as every 10 minutes.
 */
export function nextFire(cron: string, timezone: string, after: number): number | undefined {
  return patternOf(cron, timezone).nextRun(new Date(after))?.getTime();
}

function patternOf(cron: string, timezone: string): Pattern {
  return new Pattern(cron, { timezone, paused: true });
}

function problemOf(pattern: string): string | undefined {
  const isNickname = pattern.startsWith("@");
  if (isNickname ? !NICKNAMES.includes(pattern) : pattern.split(/\s+/).length !== FIELDS) {
    return ALLOWED;
  }
  try {
    // The next leap day may be eight years away. `nextFire` searches further than that.
    return nextFire(pattern, "UTC", 0) === undefined ? "a pattern that fires at all" : undefined;
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    return `${ALLOWED} (${error.message.replace(/^CronPattern: /, "")})`;
  }
}

/** An offset such as `+02:00` is refused, because it has no clock changes. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
