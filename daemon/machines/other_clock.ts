/** Converts times of other machines, whose clocks differ from this one's. */

import { INSTANT_MS_MAX } from "kit/core/schema.ts";

/**
 * The time by which the clock of another machine is ahead of this one's, in milliseconds; null
 * before the first measurement. Calls measure it, because the bus can neither forge nor repeat
 * them.
 */
export type ClockAhead = number | null;

/** An instant of another machine by this one's clock, limited to what can be stored and shown. */
export function toOwnClock(at: number, ahead_ms: ClockAhead): number {
  return Math.min(Math.max(0, at - (ahead_ms ?? 0)), INSTANT_MS_MAX);
}
