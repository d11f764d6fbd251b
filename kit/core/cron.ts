/** When a cron pattern fires next, in its time zone: what recurring jobs and schedules share. */

import { Cron as Pattern } from "croner";
import * as z from "zod";

const FIELDS = 5;
const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];
const ALLOWED = `five fields (minute hour day month weekday), or one of ${NICKNAMES.join(", ")}`;

/**
 * A cron pattern. Day of month and day of week are alternatives, as in every cron. One that never
 * fires, such as the 30th of February, is refused: what was accepted is to happen.
 */
export const Cron = z.string().trim().superRefine((pattern, issues) => {
  const error = problemOf(pattern);
  if (error) issues.addIssue({ code: "custom", message: error, input: pattern });
});

/** A name of the IANA time zone database. */
export const Timezone = z.string().refine(isTimezone, "an IANA time zone, such as Europe/Berlin");

/**
 * The first instant after another at which the pattern fires; undefined when there is none.
 *
 * A wall-clock time that the spring change skips fires at the change; one that autumn repeats fires
 * the first time only. What fires every so many minutes or hours goes on through both changes.
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
    // A leap day may be eight years away, and the search goes further than that.
    return nextFire(pattern, "UTC", 0) === undefined ? "a pattern that fires at all" : undefined;
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    return `${ALLOWED} (${error.message.replace(/^CronPattern: /, "")})`;
  }
}

/** An offset, such as `+02:00`, is none: it knows of no clock change. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
