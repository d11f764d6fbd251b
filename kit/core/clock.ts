/** Time and randomness. Everything else receives them: nothing else reads a clock or draws. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `ring` at `now() + ms`, unless the function that it returns is called first. */
  setTimer(ms: number, callback: () => void): () => void;
  /** Resolves at `now() + ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepWithTimer(systemClock, ms, signal),
};

/** `sleep` by a clock's own `alarm`: for whoever makes a clock. */
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

/**
 * Does `work` once sockets were read. Between one `setImmediate` and the next the runtime reads
 * none, so that work which goes on by them keeps everybody out until it is done.
 */
export function afterSocketReads(work: () => void): void {
  setTimeout(work, 0);
}
