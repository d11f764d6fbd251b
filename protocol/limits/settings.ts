/** The settings of limits: who lets an account go on after its reset, and when. */

import * as z from "zod";

/**
 * `always`: what waits goes on by itself. `ask`: a person is asked in the inbox. `never`: a person
 * has to say so.
 */
export const RESUME_MODES = ["always", "ask", "never"] as const;
export type ResumeMode = (typeof RESUME_MODES)[number];

/** A time of each day in which nothing goes on by itself: minutes since midnight, local time. */
export interface DailyHours {
  readonly from: number;
  readonly to: number;
}

const FORM = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

export const QuietHours = z.string().refine((text) => parseHours(text) !== undefined)
  .describe("two times of the day, such as 22:00-07:00");

/** The hours that a text names; undefined for any other text. */
export function parseHours(text: string): DailyHours | undefined {
  const [hour, minute, endHour, endMinute] = FORM.exec(text.trim())?.slice(1).map(Number) ?? [];
  const from = minutesOf(hour, minute), to = minutesOf(endHour, endMinute);
  return from === undefined || to === undefined || from === to ? undefined : { from, to };
}

function minutesOf(hour = NaN, minute = NaN): number | undefined {
  return hour <= 23 && minute <= 59 ? 60 * hour + minute : undefined;
}

/** The end of the quiet hours that an instant lies in, by local time; undefined outside of them. */
export function quietUntil({ from, to }: DailyHours, at: number): number | undefined {
  const date = new Date(at);
  const minute = 60 * date.getHours() + date.getMinutes();
  const isOverMidnight = from > to;
  const isQuiet = isOverMidnight ? minute >= from || minute < to : minute >= from && minute < to;
  if (!isQuiet) return undefined;
  const days = isOverMidnight && minute >= from ? 1 : 0;
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate() + days];
  return new Date(year, month, day, Math.floor(to / 60), to % 60).getTime();
}
