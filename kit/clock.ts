/** Time and randomness. Everything else receives them: nothing else reads a clock or draws. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `ring` at `now() + ms`, unless the function that it returns is called first. */
  alarm(ms: number, ring: () => void): () => void;
  /** Resolves at `now() + ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  alarm(ms, ring) {
    const timer = setTimeout(ring, ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepBy(systemClock, ms, signal),
};

/** `sleep` by a clock's own `alarm`. */
function sleepBy(clock: Pick<Clock, "alarm">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = clock.alarm(ms, done);
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

/** Time stands still until a test moves it; sleepers wake in order of their deadlines. */
export class FakeClock implements Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  #sleepers: { due: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  alarm(ms: number, ring: () => void): () => void {
    const sleeper = { due: this.#now + ms, wake: ring };
    this.#sleepers.push(sleeper);
    return () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy(this, ms, signal);
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
