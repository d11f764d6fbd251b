/** When a cron pattern fires. Free of schemas, so that the dashboard can load it. */

import { Cron as Pattern } from "croner";

const FIELDS = 5;
const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];
const ALLOWED = `five fields (minute hour day month weekday), or one of ${NICKNAMES.join(", ")}`;

/**
 * The first instant after `after` at which the pattern fires; undefined if it never fires. If the
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

/** For an invalid pattern, the sentence that says what is allowed. */
export function patternProblem(pattern: string): string | undefined {
  const isNickname = pattern.startsWith("@");
  if (pattern.includes(":")) return ALLOWED; // The library takes such a text for an instant.
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
