/** The times until which a person may put an item off. */

const HOUR_MS = 3_600_000;
/** The hour of a day at which an item comes back. */
const MORNING = 9;
const MONDAY = 1;

export const LATER = [
  ["1h", "in 1 hour"],
  ["4h", "in 4 hours"],
  ["tomorrow", "tomorrow at 9:00"],
  ["monday", "on Monday at 9:00"],
] as const;

/** The instant of a choice, in local time; undefined for any other text. */
export function laterInstant(choice: string, now: number): Date | undefined {
  const today = new Date(now);
  const morning = (days: number) =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() + days, MORNING);
  switch (choice) {
    case "1h":
      return new Date(now + HOUR_MS);
    case "4h":
      return new Date(now + 4 * HOUR_MS);
    case "tomorrow":
      return morning(1);
    case "monday":
      return morning((MONDAY - today.getDay() + 7) % 7 || 7);
    default:
      return undefined;
  }
}
