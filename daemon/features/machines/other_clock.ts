/** Converts times of other machines, whose clocks differ from this one's. */

import { INSTANT_MS_MAX } from "kit/core/schema.ts";

/**
 * How far the clock of another machine is ahead of this one's, in milliseconds; null before it was
 * measured. Calls measure it, which the bus can neither forge nor repeat.
 */
export type ClockAhead = number | null;

/**
 * An instant of another machine by this machine's clock. A machine can say anything of its clock,
 * so the result is limited to what can be stored and shown.
 */
export function toOwnClock(at: number, ahead_ms: ClockAhead): number {
  return Math.min(Math.max(0, at - (ahead_ms ?? 0)), INSTANT_MS_MAX);
}
