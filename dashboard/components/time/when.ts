/** The time of an action: the fields of a form, and the value for the daemon. */

import { patternProblem } from "kit/core/cron_pattern.ts";
import { parseFromNow } from "kit/core/duration.ts";

export type Mode = "now" | "in" | "at" | "recurring";

/** The contents of the fields; only the fields of the mode count. */
export interface WhenText {
  readonly mode: Mode;
  /** A time from now, such as `10m`. */
  readonly span: string;
  /** A local time, such as `2026-11-23T09:00`. */
  readonly local: string;
  readonly cron: string;
  readonly timezone: string;
}

export type When =
  | { readonly kind: "now" }
  | { readonly kind: "once"; readonly at: number }
  | { readonly kind: "recurring"; readonly cron: string; readonly timezone: string }
  | { readonly kind: "invalid"; readonly problem: string };

/** The times that the fields mean at `now`, in milliseconds. */
export function readWhen({ mode, span, local, cron, timezone }: WhenText, now: number): When {
  if (mode === "now") return { kind: "now" };
  if (mode === "recurring") {
    const problem = patternProblem(cron.trim());
    if (problem !== undefined) return { kind: "invalid", problem: `A pattern is ${problem}.` };
    return { kind: "recurring", cron: cron.trim(), timezone };
  }
  if (mode === "at") {
    const at = Date.parse(local);
    if (Number.isNaN(at)) return { kind: "invalid", problem: "Choose a day and a time." };
    if (at <= now) return { kind: "invalid", problem: "This time has passed." };
    return { kind: "once", at };
  }
  const ms = parseFromNow(span.trim());
  if (ms === undefined) {
    return { kind: "invalid", problem: "A time from now, such as 10m, 2h, 1h30m or 2d." };
  }
  return { kind: "once", at: now + ms };
}

/** The next full hour in the reader's time zone, in the form of a field for local times. */
export function nextHour(now: number): string {
  const date = new Date(now);
  date.setHours(date.getHours() + 1, 0, 0, 0);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
