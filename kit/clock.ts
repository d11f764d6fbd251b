/** The only two doors to time and chance. Everything else receives them. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves at `now() + ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", cancel, { once: true });
      function done() {
        signal?.removeEventListener("abort", cancel);
        resolve();
      }
      function cancel() {
        clearTimeout(timer);
        reject(signal?.reason);
      }
    }),
};

/**
 * What `work` comes to, unless it takes longer: then it fails with this sentence. For the smallest
 * programs, which would pay more for an `AbortSignal` than for their work.
 */
export async function inTime<T>(ms: number, work: Promise<T>, late: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(late)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Time stands still until a test moves it; sleepers wake in order of their deadlines. */
export class FakeClock implements Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  #sleepers: { due: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { due: this.#now + ms, wake: resolve };
    this.#sleepers.push(sleeper);
    signal?.addEventListener("abort", () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
      reject(signal.reason);
    }, { once: true });
    return promise;
  }

  /** Lets everything that is ready run, the open group's commit included. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    const until = this.#now + ms;
    for (let next = this.#first(until); next; next = this.#first(until)) {
      this.#now = next.due;
      next.wake();
      await this.settle();
    }
    this.#now = until;
  }

  #first(until: number): { due: number; wake: () => void } | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= until);
    const first = due.sort((a, b) => a.due - b.due)[0];
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== first);
    return first;
  }
}

export interface Ids {
  /** A fresh id such as `ask-3f9c04d1a2b7`: the prefix and 12 lowercase hex digits (contract 1). */
  next(prefix: string): string;
  /** `bytes` of randomness in base64url: for secrets. */
  secret(bytes: number): string;
  /** `bytes` of randomness in lowercase hex: for trace ids. */
  hex(bytes: number): string;
}

export const randomIds: Ids = {
  next: (prefix) => `${prefix}-${randomIds.hex(6)}`,
  hex: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)).toHex(),
  secret: (bytes) =>
    crypto.getRandomValues(new Uint8Array(bytes)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    }),
};

/** `ask-000000000001`, `notif-000000000002`, …: what tests want, each number once. */
export function countingIds(): Ids {
  let count = 0;
  return {
    next: (prefix) => `${prefix}-${(++count).toString(16).padStart(12, "0")}`,
    hex: (bytes) => (++count).toString(16).padStart(bytes * 2, "0"),
    secret: (bytes) => String(++count).padStart(Math.ceil(bytes * 4 / 3), "0"),
  };
}

/**
 * Does `work` once sockets were read. Between one `setImmediate` and the next the runtime reads
 * none, so that work which goes on by them keeps everybody out until it is done.
 */
export function afterSockets(work: () => void): void {
  setTimeout(work, 0);
}
