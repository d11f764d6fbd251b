/** Words and sentences for people on limits of accounts. */

/** The words for the windows of limits, as agents name them or as `Limit.window` does. */
const WINDOWS: Readonly<Record<string, string>> = {
  five_hour: "five-hour",
  seven_day: "weekly",
  seven_day_opus: "weekly Opus",
  seven_day_sonnet: "weekly Sonnet",
  daily: "daily",
  monthly: "monthly",
};

/** The kinds of waits that are no window. */
export const NO_CREDIT = "billing";
export const TOO_FAST = "rate";

/** `five-hour limit`, or `usage limit` for an unknown window. */
export function windowWords(window: string | null): string {
  if (window === null) return "usage limit";
  const words = WINDOWS[window] ?? window.replace(/_minutes$/, "-minute").replaceAll("_", " ");
  return /limit$/.test(words) ? words : `${words} limit`;
}

/** The limit that stops an agent, and its end if that is known: `is out of its … until …`. */
export function limitWords(detail: string | null, until: string | undefined): string {
  if (detail === NO_CREDIT) return "cannot go on: its account has no credit left";
  const end = until === undefined ? "" : ` until ${until}`;
  if (detail === TOO_FAST) return `is throttled by its provider${end}`;
  return `is out of its ${windowWords(detail)}${end}`;
}

/** The local time of day; with the date, unless it is the day of `other`. */
export function timeOfDay(at: number, other: number): string {
  const [date, today] = [new Date(at), new Date(other)];
  const time = date.toTimeString().slice(0, 5);
  const day = date.toDateString();
  return day === today.toDateString() ? time : `${time} on ${day}`;
}
