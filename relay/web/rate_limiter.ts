/** Rate limits, with one token bucket for each key and one for all keys together. */

import type { Clock } from "kit/core/clock.ts";
import { Problem } from "protocol/problems.ts";
import { MINUTE_MS } from "kit/core/duration.ts";

/** Allows `burst` requests at once, and after that `per_minute` requests a minute. */
export interface Rate {
  readonly burst: number;
  readonly per_minute: number;
}

export interface Rates {
  readonly each: Rate;
  readonly all: Rate;
}

/** A rate limit that is counted separately for each address. */
export interface AddressRateLimit {
  /** Counts a request. If the request exceeds the limit, returns the seconds to wait. */
  take(request: Request, remote: Deno.NetAddr | undefined): number | undefined;
}

/** Counts a request. Throws `too_many_requests` if it exceeds the limit. */
export function enforceRateLimit(
  limit: AddressRateLimit,
  request: Request,
  remote: Deno.NetAddr | undefined,
): void {
  const retry_after_seconds = limit.take(request, remote);
  if (retry_after_seconds === undefined) return;
  throw new Problem("too_many_requests", { retry_after_seconds });
}

export const BUCKETS_MAX = 10_000;

/** A bucket is stored as the instant at which it is full again. A full bucket is not stored. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #rates: Rates;
  /** In the order of last use, so that the first bucket has had the longest time to fill. */
  readonly #full_at = new Map<string, number>();
  #all_full_at = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, rates: Rates) {
    this.#clock = clock;
    this.#rates = rates;
  }

  /** The number of stored buckets. */
  get size(): number {
    return this.#full_at.size;
  }

  /**
   * Takes a token from this bucket and from the bucket of all keys together. If either is empty,
   * takes none and returns the seconds to wait.
   */
  acquire(bucket: string): number | undefined {
    const { each, all } = this.#rates;
    const now = this.#clock.monotonic();
    const bucketFullAt = Math.max(now, this.#full_at.get(bucket) ?? now);
    const allFullAt = Math.max(now, this.#all_full_at);
    const wait_ms = Math.max(
      msUntilAllowed(bucketFullAt - now, each),
      msUntilAllowed(allFullAt - now, all),
    );
    if (wait_ms > 0) return Math.ceil(wait_ms / 1000);
    this.#all_full_at = allFullAt + msPerRequest(all);
    this.#full_at.delete(bucket);
    this.#full_at.set(bucket, bucketFullAt + msPerRequest(each));
    if (this.#full_at.size > BUCKETS_MAX) this.#evictOldest();
    return undefined;
  }

  #evictOldest(): void {
    for (const bucket of this.#full_at.keys()) return void this.#full_at.delete(bucket);
  }
}

/** Time in which a bucket regains one token. */
function msPerRequest({ per_minute }: Rate): number {
  return MINUTE_MS / per_minute;
}

/** Time until a bucket has a token. `msUntilFull` is the time until the bucket is full. */
function msUntilAllowed(msUntilFull: number, rate: Rate): number {
  return msUntilFull - (rate.burst - 1) * msPerRequest(rate);
}
