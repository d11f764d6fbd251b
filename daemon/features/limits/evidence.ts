/** The rules on reports of limits: the kind of limit, how long it is believed, the next try. */

import type { LimitEvent } from "protocol/limits/states.ts";
import { NO_CREDIT } from "protocol/derived/limits.ts";
import { RESET_MS_MAX } from "protocol/limits/contract.ts";
import { MINUTE_MS } from "kit/core/duration.ts";
import { BY_SCREEN, type LimitReport } from "../peers/waits.ts";
import type { StoredLimit } from "./store.ts";

/** Clocks differ, so an account is tried a little after its reset. */
const MARGIN_MS = 5_000;
/** A limit of this length or less passes like any other delay. */
export const SHORT_MS = 10 * MINUTE_MS;

/** The first and the longest time to the next try of a limit without a reset. */
const PAUSES: Readonly<Record<"slowed" | "used_up", { first: number; max: number }>> = {
  slowed: { first: MINUTE_MS, max: 30 * MINUTE_MS },
  used_up: { first: 15 * MINUTE_MS, max: 120 * MINUTE_MS },
};

const UNPAID = /billing|credit|payment|insufficient_(quota|funds)/i;
const USED_UP = /usage_?limit|quota|exhausted/i;

/** A limit, as a report shows it. */
export interface Finding
  extends Pick<StoredLimit, "window" | "resets_at" | "due_at" | "source" | "text"> {
  readonly event: Extract<LimitEvent, "slowed" | "used_up" | "unpaid">;
  readonly at: number;
}

/** The limit that a report shows; undefined if it is over. `tries`: limits before it, in a row. */
export function findingOf(report: LimitReport, tries: number, now: number): Finding | undefined {
  const { source, text = null, window = null } = report;
  const at = Math.min(report.at, now);
  const resets_at = believedReset(report.resets_at, at);
  const event = eventOf(report, resets_at, at);
  const due_at = event === "unpaid" ? null : dueAt(event, { at, resets_at, tries });
  if (due_at !== null && due_at <= now) return undefined;
  return { event, at, source, text, window, resets_at, due_at };
}

/** The reset, unless it lies before the report or farther ahead than any plan's. */
function believedReset(resets_at: number | undefined, at: number): number | null {
  if (resets_at === undefined || resets_at <= at || resets_at - at > RESET_MS_MAX) return null;
  return resets_at;
}

function eventOf(
  { error = "", detail, window, source }: LimitReport,
  resets_at: number | null,
  at: number,
): Finding["event"] {
  if (detail === NO_CREDIT || UNPAID.test(error)) return "unpaid";
  const isLong = resets_at !== null && resets_at - at > SHORT_MS;
  const isQuota = window !== undefined || USED_UP.test(error) || source === BY_SCREEN;
  return isLong || isQuota ? "used_up" : "slowed";
}

/** The next try of a limit: after its reset, else after a pause that grows with each try. */
function dueAt(
  event: "slowed" | "used_up",
  { at, resets_at, tries }: { at: number; resets_at: number | null; tries: number },
): number {
  if (resets_at !== null) return resets_at + MARGIN_MS;
  const { first, max } = PAUSES[event];
  return at + Math.min(max, first * 2 ** Math.min(tries, 10));
}

/** The next try after the clock was set. A reset that is now too far ahead is not believed. */
export function dueAfterStep(
  { due_at, resets_at, state, tries }: StoredLimit,
  step_ms: number,
  now: number,
): number | null {
  if (due_at === null) return null;
  if (resets_at === null) return due_at + step_ms;
  if (resets_at - now <= RESET_MS_MAX) return due_at;
  const event = state === "exhausted" ? "used_up" : "slowed";
  return dueAt(event, { at: now, resets_at: null, tries });
}

/**
 * True if a report adds nothing to a known limit: it repeats it, or it has no reset for a limit
 * whose reset is known.
 */
export function addsNothing(known: StoredLimit, found: Finding, now: number): boolean {
  if (found.at < (known.evidence_at ?? 0) && found.resets_at === null) return true;
  if (known.state === "out_of_credits") return found.event === "unpaid";
  if (found.event === "unpaid" || known.due_at === null || known.due_at <= now) return false;
  if (found.resets_at === null) return known.state === "exhausted" || found.event === "slowed";
  return known.resets_at === found.resets_at &&
    (known.state === "exhausted") === (found.event === "used_up");
}
