/** Computes the timing of a schedule from a request, and its change by an edit. */

import { invalidField } from "kit/core/problem.ts";
import { nextFire } from "kit/core/cron_pattern.ts";
import type { StoredSchedule } from "./store.ts";
import { instantOf, problemOf, type When } from "protocol/schedules/when.ts";

/** The time zone of a cron pattern if the request names none. */
export const DEFAULT_TIMEZONE = "UTC";

/** The timing of a schedule: one instant, or a cron pattern in a time zone. */
type Timing = Pick<StoredSchedule, "fire_at" | "cron" | "timezone" | "next_fire_at">;

interface TimingInput {
  readonly fire_at?: When | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
}

/** The timing that a request asks for. */
export function timingOf({ fire_at, cron, timezone }: TimingInput, now: number): Timing {
  if (fire_at !== undefined) {
    const at = instantOf(fire_at, now);
    const problem = problemOf(at, now);
    if (problem) throw invalidField("fire_at", problem);
    return { fire_at: at, cron: null, timezone: timezone ?? null, next_fire_at: at };
  }
  const zone = timezone ?? DEFAULT_TIMEZONE;
  const next_fire_at = cron === undefined ? undefined : nextFire(cron, zone, now);
  if (cron === undefined || next_fire_at === undefined) {
    throw invalidField("cron", "the pattern never fires");
  }
  return { fire_at: null, cron, timezone: zone, next_fire_at };
}

/** The timing after an edit. */
export function updatedTiming(
  before: Timing,
  { fire_at, cron, timezone }: TimingInput,
  now: number,
): Timing {
  const zone = timezone ?? before.timezone ?? undefined;
  if (fire_at !== undefined) return timingOf({ fire_at, timezone }, now);
  if (cron !== undefined) return timingOf({ cron, timezone: zone }, now);
  if (timezone !== undefined && before.cron !== null) {
    return timingOf({ cron: before.cron, timezone }, now);
  }
  const { fire_at: at, cron: pattern, next_fire_at } = before;
  return { fire_at: at, cron: pattern, timezone: zone ?? null, next_fire_at };
}
