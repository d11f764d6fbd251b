/** Time and randomness. No other file reads the clock or draws random bytes. */

/** A reading of `Clock.monotonic()`. Only readings of one process can be compared. */
export type Monotonic = number & { readonly reading: "monotonic" };
/** A reading of `Clock.boottime()`. Only readings of one process can be compared. */
export type Boottime = number & { readonly reading: "boottime" };

/**
 * Three clocks, which differ when the time of day is set and while the machine is suspended.
 *
 * - `now`: instants that are shown, stored or agreed on with others: due times, cron, the expiry of
 *   stored records, tokens, certificates. Somebody, NTP or a snapshot may set it forwards or back
 *   at any moment. It goes on while the machine is suspended.
 * - `monotonic`: pauses, timeouts, back-off, rate limits, proof of life. It stands still, as timers
 *   do, while the machine is suspended: then nobody could answer.
 * - `boottime`: ages of what guards something running (leases, waits for a registration), uptime,
 *   and time limits in memory. It goes on while the machine is suspended.
 *
 * No pause may be as long as the time until something is due. The scheduler compares due times each
 * second, so all that fell due while the machine was suspended runs within a second of waking.
 */
export interface Clock {
  /** The time of day: milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment, without suspensions. Never goes back. */
  monotonic(): Monotonic;
  /** Milliseconds since an arbitrary moment, with suspensions. Never goes back. */
  boottime(): Boottime;
  /** Calls `callback` at `monotonic() + ms`. The returned function cancels the timer. */
  setTimer(ms: number, callback: () => void): () => void;
  /** Resolves at `monotonic() + ms`. If the signal aborts first, rejects with its reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const monotonic = () => performance.now() as Monotonic;

/** A smaller difference comes from rounding of boottime, or from a clock that is being slewed. */
const STEP_MS_MIN = { boottime: 3000, monotonic: 1000 } as const;
/** The system's uptime has whole seconds, so a shorter suspension looks like rounding. */
const SUSPENSION_MS_MIN = 2000;
/** The system's uptime is read again after this time: it is a system call, and some read often. */
const UPTIME_MS_MAX = 10;

/**
 * The runtime has no CLOCK_BOOTTIME. Boottime is the monotonic clock plus all suspensions so far:
 * the time by which the system's uptime has gained on the monotonic clock.
 */
class SuspensionCounter {
  #base_ms: number | undefined;
  #suspended_ms = 0;
  #uptime_read_at = -Infinity;

  boottime(): Boottime {
    const awake = monotonic();
    if (awake - this.#uptime_read_at >= UPTIME_MS_MAX) this.#readUptime(awake);
    return awake + this.#suspended_ms as Boottime;
  }

  #readUptime(awake: number): void {
    this.#uptime_read_at = awake;
    const ahead_ms = Deno.osUptime() * 1000 - awake;
    const gained_ms = ahead_ms - (this.#base_ms ??= ahead_ms);
    if (gained_ms > this.#suspended_ms + SUSPENSION_MS_MIN) this.#suspended_ms = gained_ms;
  }
}

const suspensions = new SuspensionCounter();
const boottime = () => suspensions.boottime();

function clockWith(setTimer: Clock["setTimer"]): Clock {
  const sleep: Clock["sleep"] = (ms, signal) => sleepWithTimer({ setTimer }, ms, signal);
  return { now: () => Date.now(), monotonic, boottime, setTimer, sleep };
}

export const systemClock: Clock = clockWith((ms, callback) => {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
});

/**
 * The system's clock for a program that runs for a moment. Its timers are those of abort signals,
 * because the first `setTimeout` of a process takes a third of the time in which Deno starts. A
 * timer that is cancelled stays in memory until its time has come.
 */
export const briefClock: Clock = clockWith((ms, callback) => {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener("abort", callback, { once: true });
  return () => signal.removeEventListener("abort", callback);
});

/** Implements `Clock.sleep` with a clock's own `setTimer`. */
export function sleepWithTimer(
  clock: Pick<Clock, "setTimer">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = clock.setTimer(ms, done);
    signal?.addEventListener("abort", abort, { once: true });
    function done() {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort() {
      cancel();
      reject(signal?.reason);
    }
  });
}

/**
 * True if at least `ms` lie between an instant and now. True as well if the clock was set back
 * behind the instant, because to wait for that time once more might take days.
 */
export function hasPassed(ms: number, since: number, now: number): boolean {
  return now < since || now - since >= ms;
}

/** Starts a stopwatch, which returns the elapsed milliseconds with fractions. Not a time of day. */
export function stopwatch(clock: Pick<Clock, "monotonic"> = systemClock): () => number {
  const started = clock.monotonic();
  return () => clock.monotonic() - started;
}

/** Maximum number of records whose ages are known. The oldest entry is dropped first. */
const AGES_MAX = 10_000;

/**
 * Ages of stored records that guard something running. Within this run, the age counts from the
 * first look at a record, so later changes of the time of day do not matter. A record of an earlier
 * run, or beyond `AGES_MAX`, gets its age from the time of day.
 */
export class Ages {
  readonly #clock: Pick<Clock, "now" | "boottime">;
  /** In the order of the first look. */
  readonly #records = new Map<string, { since: number; began_at: number }>();

  constructor(clock: Pick<Clock, "now" | "boottime">) {
    this.#clock = clock;
  }

  /** Milliseconds since the stored time `since`. A new value of `since` starts again. */
  of(id: string, since: number): number {
    const known = this.#records.get(id);
    const now = this.#clock.boottime();
    if (known?.since === since) return now - known.began_at;
    const age_ms = Math.max(0, this.#clock.now() - since);
    this.#records.delete(id);
    this.#records.set(id, { since, began_at: now - age_ms });
    const [oldest] = this.#records.keys();
    if (this.#records.size > AGES_MAX && oldest !== undefined) this.#records.delete(oldest);
    return age_ms;
  }

  /** Removes and returns up to `limit` records of at least this age. */
  takeOlderThan(ms: number, limit: number): string[] {
    const before = this.#clock.boottime() - ms;
    const old: string[] = [];
    for (const [id, { began_at }] of this.#records) {
      if (began_at > before || old.length >= limit) break;
      old.push(id);
    }
    for (const id of old) this.#records.delete(id);
    return old;
  }
}

/**
 * A time limit in memory whose end is shown as a time of day. It ends at that time of day, and at
 * the latest after `ms`, in case the clock is set back.
 */
export class TimeLimit {
  readonly #clock: Pick<Clock, "now" | "boottime">;
  /** The end by the time of day. */
  readonly ends_at: number;
  readonly #ends_at_boottime: number;

  constructor(clock: Pick<Clock, "now" | "boottime">, ms: number) {
    this.#clock = clock;
    this.ends_at = clock.now() + ms;
    this.#ends_at_boottime = clock.boottime() + ms;
  }

  get isOver(): boolean {
    return this.#clock.now() >= this.ends_at ||
      this.#clock.boottime() >= this.#ends_at_boottime;
  }
}

/**
 * A time of day that never goes back within a run, for order by time. After the clock was set back,
 * it continues from its last value.
 */
export class ForwardTime {
  readonly #clock: Pick<Clock, "now" | "boottime">;
  #last: number;
  #read_at: Boottime;

  constructor(clock: Pick<Clock, "now" | "boottime">) {
    this.#clock = clock;
    this.#last = clock.now();
    this.#read_at = clock.boottime();
  }

  now(): number {
    const read_at = this.#clock.boottime();
    this.#last = Math.max(this.#clock.now(), this.#last + read_at - this.#read_at);
    this.#read_at = read_at;
    return Math.round(this.#last);
  }
}

/**
 * Detects changes of the time of day. Measured by `monotonic`, a suspension is a change, too. Call
 * it at least once a minute.
 */
export class ClockWatch<Measure extends "boottime" | "monotonic"> {
  readonly #offset: () => number;
  readonly #step_ms_min: number;
  #offset_ms: number;

  constructor(clock: Pick<Clock, "now" | Measure>, measure: Measure) {
    this.#offset = () => clock.now() - clock[measure]();
    this.#step_ms_min = STEP_MS_MIN[measure];
    this.#offset_ms = this.#offset();
  }

  /** The clock's step since the last call, in milliseconds; negative if set back, 0 if not set. */
  stepped(): number {
    const offset_ms = this.#offset();
    const step_ms = offset_ms - this.#offset_ms;
    this.#offset_ms = offset_ms;
    return Math.abs(step_ms) < this.#step_ms_min ? 0 : step_ms;
  }
}

export interface Ids {
  /** A new id such as `ask-3f9c04d1a2b7`: the prefix and 12 lowercase hex digits (contract 1). */
  next(prefix: string): string;
  /** Random bytes in base64url, for secrets. */
  secret(bytes: number): string;
  /** Random bytes in lowercase hex, for trace ids. */
  hex(bytes: number): string;
  /** A random integer from 1 to `max`. */
  distance(max: number): number;
  /** Drops random bytes that were drawn ahead: another process may have a copy of this memory. */
  renew(): void;
}

/** Number of random bytes drawn at once for ids: a draw costs as much as 200 bytes. */
const RANDOM_BYTES = 4096;
const randomBytes = new Uint8Array(RANDOM_BYTES);
let used = RANDOM_BYTES;

/** Random bytes that no other call gets. Not for secrets, as they stay in memory for a while. */
function drawIdBytes(bytes: number): Uint8Array {
  if (used + bytes > RANDOM_BYTES) {
    fillRandomly(randomBytes);
    used = 0;
  }
  used += bytes;
  return randomBytes.subarray(used - bytes, used);
}

/**
 * Fills an array with random bytes. A virtual machine restored with its memory continues with the
 * same generator as its original, so the time is mixed in. XOR with any value leaves random bytes
 * just as random.
 */
function fillRandomly(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  crypto.getRandomValues(bytes);
  // xorshift32 (Marsaglia, 2003); its state must not be 0.
  let state = ((Date.now() ^ Math.imul(performance.now() * 1000, 0x9e3779b1)) >>> 0) || 1;
  for (const [index, byte] of bytes.entries()) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[index] = byte ^ (state >>> 24);
  }
  return bytes;
}

export const randomIds: Ids = {
  next: (prefix) => `${prefix}-${randomIds.hex(6)}`,
  hex: (bytes) => drawIdBytes(bytes).toHex(),
  secret: (bytes) =>
    fillRandomly(new Uint8Array(bytes)).toBase64({ alphabet: "base64url", omitPadding: true }),
  distance: (max) => {
    const [high = 0, low = 0] = new Uint32Array(fillRandomly(new Uint8Array(8)).buffer);
    return 1 + Math.floor((high * 2 ** -32 + (low >>> 11) * 2 ** -53) * max);
  },
  renew: () => void (used = RANDOM_BYTES),
};

/**
 * Runs `work` after the runtime has read its sockets. The runtime reads no sockets between two
 * `setImmediate` callbacks, so long work that continues in such callbacks would block all
 * connections.
 */
export function afterSocketReads(work: () => void): void {
  setTimeout(work, 0);
}
