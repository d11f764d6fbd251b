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
export function afterSockets(work: () => void): void {
  setTimeout(work, 0);
}
