/** Remembers answered calls, so that a stolen bus cannot have a call executed again. */

/** Maximum difference between the time of a call and this machine's clock. */
export const CALL_AGE_MS_MAX = 60_000;
/** Maximum number of calls remembered. A call is forgotten when its age alone refuses it. */
export const NONCES_MAX = 20_000;

type NonceCheck = "new" | "wrong_time" | "repeated" | "full";

export class NonceMemory {
  /** Time at which each accepted call becomes too old, by its key, in the order of arrival. */
  readonly #expiries = new Map<string, number>();
  readonly #started_at: number;

  /**
   * Calls from before the start are refused: the calls that the last run answered are not stored.
   */
  constructor(started_at: number) {
    this.#started_at = started_at;
  }

  /** `new` if a call may be answered. The same call is `repeated` the next time. */
  check(key: string, at: number, now: number): NonceCheck {
    if (Math.abs(now - at) > CALL_AGE_MS_MAX || at < this.#started_at) return "wrong_time";
    if (this.#expiries.has(key)) return "repeated";
    this.#forget(now);
    if (this.#expiries.size >= NONCES_MAX) return "full";
    this.#expiries.set(key, at + CALL_AGE_MS_MAX);
    return "new";
  }

  get size(): number {
    return this.#expiries.size;
  }

  /** Forgets calls that are too old, in the order of arrival, up to the first that is not. */
  #forget(now: number): void {
    for (const [key, expires_at] of this.#expiries) {
      if (expires_at >= now) return;
      this.#expiries.delete(key);
    }
  }
}
