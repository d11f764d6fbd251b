/** Ages on the screen, and the time for which they stay true. */

import { formatDuration } from "../../output/time.ts";

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000];

export class Ages {
  readonly now: number;
  /** After this time one of the ages reads differently; undefined if there is none. */
  valid_ms: number | undefined;

  constructor(now: number) {
    this.now = now;
  }

  /** The age of an instant in its largest unit, such as `3m`. */
  since(instant: string): string {
    const age_ms = Math.max(0, this.now - Date.parse(instant));
    const unit_ms = UNITS_MS.find((ms) => age_ms >= ms) ?? 1_000;
    const left_ms = unit_ms - age_ms % unit_ms;
    this.valid_ms = Math.min(this.valid_ms ?? Infinity, left_ms);
    return formatDuration(age_ms);
  }
}
