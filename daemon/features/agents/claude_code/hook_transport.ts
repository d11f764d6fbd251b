/** The hook transport: wakes an idle session by the hook of its own that waits for that. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type {
  AgentTransport,
  OutgoingMessage,
  Readiness,
  Receipt,
  WaitingHooks,
  WakeInstruction,
} from "../adapter.ts";
import { truncateFramed } from "../pane_text.ts";
import { TEXT_BYTES_MAX } from "../screens.ts";

/** A hook that has its text writes it within milliseconds, and says so. */
const CONFIRM_MS_MAX = 2_000;

/** A hook that waits, and what it is to be answered. */
interface Waiter {
  readonly answer: (instruction: WakeInstruction) => void;
}

/** The hooks that wait: one for each session, the newest, so that no older ones pile up. */
export class WaitingHookList implements WaitingHooks {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Waiter>();
  /** Texts that were handed to a hook which has not said yet that they are written. */
  readonly #unconfirmed = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isWaiting(session_id: string): boolean {
    return this.#waiters.has(session_id);
  }

  get sessions(): readonly string[] {
    return [...this.#waiters.keys()];
  }

  /** Keeps a hook waiting until it is called or let go; `signal` is its own patience. */
  async add(session_id: string, signal: AbortSignal): Promise<WakeInstruction> {
    this.release(session_id);
    const waiting = Promise.withResolvers<WakeInstruction>();
    const waiter = { answer: waiting.resolve };
    const expire = () => waiting.resolve({ then: "again" });
    this.#waiters.set(session_id, waiter);
    signal.addEventListener("abort", expire, { once: true });
    if (signal.aborted) expire();
    try {
      return await waiting.promise;
    } finally {
      signal.removeEventListener("abort", expire);
      if (this.#waiters.get(session_id) === waiter) this.#waiters.delete(session_id);
    }
  }

  /** Its session is reached in a better way, or by a newer hook: the hook ends. */
  release(session_id: string): void {
    this.#remove(session_id)?.answer({ then: "end" });
  }

  /** The hook has written a text to where its session reads it. */
  written(delivery_id: string): void {
    this.#unconfirmed.get(delivery_id)?.();
  }

  /** Hands a text to a session's hook, and waits until that has written it. */
  async deliver(
    session_id: string,
    { delivery_id, framed, proof_id }: OutgoingMessage,
  ): Promise<Receipt> {
    const waiter = this.#remove(session_id);
    if (!waiter) return { state: "refused", reason: "nobody_waits" };
    const written = Promise.withResolvers<true>();
    this.#unconfirmed.set(delivery_id, () => written.resolve(true));
    const text = truncateFramed(framed, proof_id, { bytes_max: TEXT_BYTES_MAX, newlines: "kept" });
    waiter.answer({ then: "write", delivery_id, text });
    const confirmed = await timeout(this.#clock, CONFIRM_MS_MAX, written.promise);
    this.#unconfirmed.delete(delivery_id);
    return confirmed ? { state: "sent" } : { state: "unclear", reason: "write_untold" };
  }

  /** Whoever is taken out of the list is answered by the taker. */
  #remove(session_id: string): Waiter | undefined {
    const waiter = this.#waiters.get(session_id);
    this.#waiters.delete(session_id);
    return waiter;
  }
}

export function createHookTransport(waiters: WaitingHookList): AgentTransport {
  return {
    name: "hook",
    check: ({ runtime_session_id }) => {
      const isHeld = runtime_session_id !== null && waiters.isWaiting(runtime_session_id);
      const readiness: Readiness = isHeld
        ? { ready: true }
        : { ready: false, reason: "nobody_waits" };
      return Promise.resolve(readiness);
    },
    deliver: ({ runtime_session_id }, outgoing) =>
      waiters.deliver(runtime_session_id ?? "", outgoing),
  };
}
