/** Cron patterns and time zones, for recurring jobs and schedules. */

import * as z from "zod";
import { patternProblem } from "kit/core/cron_pattern.ts";

/**
 * A cron pattern. If both day of month and day of week are given, either may match, as in every
 * cron. A pattern that never fires, such as the 30th of February, is invalid.
 */
export const Cron = z.string().trim().superRefine((pattern, issues) => {
  const error = patternProblem(pattern);
  if (error) issues.addIssue({ code: "custom", message: error, input: pattern });
});

/** A name of the IANA time zone database. */
export const Timezone = z.string().refine(isTimezone, "an IANA time zone, such as Europe/Berlin");

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
