/** The daemon's time, by which ages are shown. */

import { signal } from "@preact/signals";

const TICK_MS = 10_000;
/** The header is in whole seconds and takes time to arrive: smaller differences are ignored. */
const DIFFERENCE_MS_MIN = 3000;

let ahead_ms = 0;

/** The daemon's time in milliseconds; it moves on by a tick, and when something is loaded. */
export const now = signal(Date.now());

/** Notes the time in an answer of the daemon. */
export function setByHeader(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  ahead_ms = Math.abs(difference) < DIFFERENCE_MS_MIN ? 0 : difference;
}

/** The current time of the daemon. */
export function currentTime(): number {
  return Date.now() + ahead_ms;
}

export function tick(): void {
  now.value = currentTime();
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) tick();
  }, TICK_MS);
  document.addEventListener("visibilitychange", tick);
}
