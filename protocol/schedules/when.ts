/** Parses when a one-shot schedule fires (an instant or a relative time), and checks its range. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { parseFromNow } from "kit/core/duration.ts";

/** A parsed `fire_at`: an instant, or milliseconds from now. */
export type When = { readonly at: number } | { readonly in_ms: number };

/** Maximum age of `fire_at`, because clocks differ and requests take time. */
const LATE_MS_MAX = 60_000;
const YEAR_MS = 366 * 86_400_000;
/** Maximum distance of `fire_at`. A later time is probably a typing error. */
const AHEAD_MS_MAX = 10 * YEAR_MS;

const ALLOWED =
  "an instant with its offset, such as 2026-11-21T09:00:00+01:00, or a time from now, " +
  "such as 10m, in 2h, 1h30m or 2d";

export const When = z.string().max(100).transform((text, issues): When => {
  const found = parseWhen(text.trim());
  if (found) return found;
  issues.addIssue({ code: "custom", message: `"${text}" is not ${ALLOWED}`, input: text });
  return z.NEVER;
});

export function instantOf(when: When, now: number): number {
  return "at" in when ? when.at : now + when.in_ms;
}

/** Why a one-shot schedule cannot fire at this instant; undefined if it can. */
export function problemOf(at: number, now: number): string | undefined {
  const instantText = Number.isSafeInteger(at) && at - now <= AHEAD_MS_MAX && at > 0 && iso(at);
  if (!instantText) return at > now ? "more than ten years away" : "before 1970";
  if (now - at <= LATE_MS_MAX) return undefined;
  return `${instantText} has passed: it is ${iso(now)} now`;
}

function parseWhen(text: string): When | undefined {
  const instant = Instant.safeParse(text);
  if (instant.success) return { at: instant.data };
  const in_ms = parseFromNow(text);
  return in_ms === undefined ? undefined : { in_ms };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
