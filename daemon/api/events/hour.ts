/** Figures of the last hour, minute by minute, in memory: deliveries, their times, the queue. */

import type { Clock } from "kit/core/clock.ts";
import type { Spread } from "protocol/api/events.ts";

const MINUTE_MS = 60_000;
export const MINUTES = 60;
/** Times below this many milliseconds are exact; longer times are rounded to 1/16 of their size. */
const EXACT_MS_MAX = 32;

/** Counts of one minute. */
interface Minute {
  /** Minutes since 1970: the time of day at the start plus the time that has passed since. */
  readonly number: number;
  sent: number;
  seen: number;
  /** Messages that failed, expired or were dropped. */
  lost: number;
  /** Number of messages that waited when the minute began; undefined before the first sample. */
  queued: number | undefined;
  readonly sent_ms: DeliveryTimes;
  readonly seen_ms: DeliveryTimes;
}

/** Count of each delivery time. A bounded number of different times is kept. */
export class DeliveryTimes {
  readonly #counts = new Map<number, number>();

  add(ms: number): void {
    const rounded = roundTime(Math.max(0, ms));
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1);
  }

  addAll(times: DeliveryTimes): void {
    for (const [ms, count] of times.#counts) {
      this.#counts.set(ms, (this.#counts.get(ms) ?? 0) + count);
    }
  }

  /** Null if nothing was measured. */
  spread(): Spread | null {
    const sorted = [...this.#counts].sort(([a], [b]) => a - b);
    const total = sorted.reduce((sum, [, count]) => sum + count, 0);
    if (total === 0) return null;
    return { p50: percentile(sorted, total * 0.5), p99: percentile(sorted, total * 0.99) };
  }
}

export class Hour {
  readonly #clock: Clock;
  readonly started_at: number;
  readonly #boottime_at_start: number;
  readonly #minutes: Minute[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.started_at = clock.now();
    this.#boottime_at_start = clock.boottime();
  }

  /** A delivery reached a state, so many milliseconds after the message was created. */
  stepped(state: string, age_ms: number): void {
    const minute = this.#current();
    if (state === "sent") {
      minute.sent++;
      minute.sent_ms.add(age_ms);
    } else if (state === "seen") {
      minute.seen++;
      minute.seen_ms.add(age_ms);
    } else if (state === "failed" || state === "expired" || state === "dropped") minute.lost++;
  }

  /** Samples the queue once a minute. */
  tick(queued: () => number): void {
    const minute = this.#current();
    minute.queued ??= queued();
  }

  /** The minutes with data, oldest first, and the whole hour. */
  figures() {
    const now = this.#current().number;
    // The difference between the clock and the run's own time, after the clock was set.
    const set_by = Math.round((this.#clock.now() - this.#runTime()) / MINUTE_MS);
    const minutes = this.#minutes.filter(({ number }) => number > now - MINUTES);
    const sent_ms = new DeliveryTimes(), seen_ms = new DeliveryTimes();
    for (const minute of minutes) {
      sent_ms.addAll(minute.sent_ms);
      seen_ms.addAll(minute.seen_ms);
    }
    return {
      started_at: this.started_at,
      sent_ms: sent_ms.spread(),
      seen_ms: seen_ms.spread(),
      minutes: minutes.map(({ number, queued = null, sent_ms, seen_ms, ...counts }) => ({
        at: (number + set_by) * MINUTE_MS,
        ...counts,
        queued,
        sent_ms: sent_ms.spread(),
        seen_ms: seen_ms.spread(),
      })),
    };
  }

  #runTime(): number {
    return this.started_at + this.#clock.boottime() - this.#boottime_at_start;
  }

  /** The current minute. */
  #current(): Minute {
    const number = Math.floor(this.#runTime() / MINUTE_MS);
    const newest = this.#minutes.at(-1);
    if (newest && newest.number >= number) return newest;
    const minute = {
      number,
      sent: 0,
      seen: 0,
      lost: 0,
      queued: undefined,
      sent_ms: new DeliveryTimes(),
      seen_ms: new DeliveryTimes(),
    };
    this.#minutes.push(minute);
    if (this.#minutes.length > MINUTES) this.#minutes.shift();
    return minute;
  }
}

function roundTime(ms: number): number {
  if (ms < EXACT_MS_MAX) return Math.round(ms);
  const step = 2 ** (Math.floor(Math.log2(ms)) - 4);
  return Math.round(ms / step) * step;
}

/** The smallest time that at least `rank` of the sorted times do not exceed. */
function percentile(sorted: readonly (readonly [ms: number, count: number])[], rank: number) {
  let below = 0;
  for (const [ms, count] of sorted) {
    below += count;
    if (below >= rank) return ms;
  }
  return sorted.at(-1)?.[0] ?? 0;
}
