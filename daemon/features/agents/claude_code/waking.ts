/** The hook rung: wakes an idle session by the hook of its own that waits for that. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Parcel, Readiness, Receipt, Rung, Waiters, Waking } from "../adapter.ts";
import { shortened } from "../pane.ts";
import { TEXT_BYTES_MAX } from "../screens.ts";

/** A hook that has its text writes it within milliseconds, and says so. */
const WRITTEN_MS_MAX = 2_000;

/** A hook that waits, and what it is to be answered. */
interface Waiter {
  readonly answer: (waking: Waking) => void;
}

/** The hooks that wait: one for each session, the newest, so that no older ones pile up. */
export class HookWaiters implements Waiters {
  readonly #clock: Clock;
  readonly #held = new Map<string, Waiter>();
  /** Texts that were handed to a hook which has not said yet that they are written. */
  readonly #unwritten = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  holds(session_id: string): boolean {
    return this.#held.has(session_id);
  }

  get sessions(): readonly string[] {
    return [...this.#held.keys()];
  }

  /** Keeps a hook waiting until it is called or let go; `signal` is its own patience. */
  async hold(session_id: string, signal: AbortSignal): Promise<Waking> {
    this.release(session_id);
    const called = Promise.withResolvers<Waking>();
    const waiter = { answer: called.resolve };
    const leave = () => called.resolve({ then: "again" });
    this.#held.set(session_id, waiter);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await called.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      if (this.#held.get(session_id) === waiter) this.#held.delete(session_id);
    }
  }

  /** Its session is reached in a better way, or by a newer hook: the hook ends. */
  release(session_id: string): void {
    this.#take(session_id)?.answer({ then: "end" });
  }

  /** The hook has written a text to where its session reads it. */
  written(delivery_id: string): void {
    this.#unwritten.get(delivery_id)?.();
  }

  /** Hands a text to a session's hook, and waits until that has written it. */
  async call(session_id: string, { delivery_id, framed, proof_id }: Parcel): Promise<Receipt> {
    const waiter = this.#take(session_id);
    if (!waiter) return { state: "refused", reason: "nobody_waits" };
    const written = Promise.withResolvers<true>();
    this.#unwritten.set(delivery_id, () => written.resolve(true));
    const text = shortened(framed, proof_id, { bytes_max: TEXT_BYTES_MAX, newlines: "kept" });
    waiter.answer({ then: "write", delivery_id, text });
    const reported = await timeout(this.#clock, WRITTEN_MS_MAX, written.promise);
    this.#unwritten.delete(delivery_id);
    return reported ? { state: "sent" } : { state: "unclear", reason: "write_untold" };
  }

  /** Whoever is taken out of the list is answered by the taker. */
  #take(session_id: string): Waiter | undefined {
    const waiter = this.#held.get(session_id);
    this.#held.delete(session_id);
    return waiter;
  }
}

export function wakingRung(waiters: HookWaiters): Rung {
  return {
    name: "hook",
    check: ({ runtime_session_id }) => {
      const waits = runtime_session_id !== null && waiters.holds(runtime_session_id);
      const readiness: Readiness = waits
        ? { ready: true }
        : { ready: false, reason: "nobody_waits" };
      return Promise.resolve(readiness);
    },
    deliver: ({ runtime_session_id }, parcel) => waiters.call(runtime_session_id ?? "", parcel),
  };
}
