/** The hook transport: wakes an idle session through a hook that waits beside it. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import {
  type AgentTransport,
  type OutgoingMessage,
  type Receipt,
  toReadiness,
  type WaitingHooks,
  type WakeInstruction,
} from "../adapter.ts";
import { truncateFramed } from "../pane_text.ts";
import { TEXT_BYTES_MAX } from "../screens.ts";

/** A hook writes its text and confirms it within milliseconds. */
const CONFIRM_MS_MAX = 2_000;

type Waiter = (instruction: WakeInstruction) => void;

/** The waiting hooks: only the newest of each session, so that they do not accumulate. */
export class WaitingHookList implements WaitingHooks {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Waiter>();
  /** Texts that were handed to a hook and not confirmed yet. */
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

  /** Blocks a hook until it is answered or released. After an abort, the hook asks again. */
  async add(session_id: string, signal: AbortSignal): Promise<WakeInstruction> {
    this.release(session_id);
    const waiting = Promise.withResolvers<WakeInstruction>();
    const waiter = waiting.resolve;
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

  /** Ends a session's hook: a better transport reaches the session, or a newer hook waits. */
  release(session_id: string): void {
    this.#remove(session_id)?.({ then: "end" });
  }

  /** Called when a hook has written a text to its session. */
  written(delivery_id: string): void {
    this.#unconfirmed.get(delivery_id)?.();
  }

  /** Hands a text to a session's hook and waits until the hook confirms it. */
  async deliver(
    session_id: string,
    { delivery_id, framed, proof_id }: OutgoingMessage,
  ): Promise<Receipt> {
    const waiter = this.#remove(session_id);
    if (!waiter) return { state: "refused", reason: "nobody_waits" };
    const written = Promise.withResolvers<true>();
    this.#unconfirmed.set(delivery_id, () => written.resolve(true));
    const text = truncateFramed(framed, proof_id, { bytes_max: TEXT_BYTES_MAX, newlines: "kept" });
    waiter({ then: "write", delivery_id, text });
    const confirmed = await timeout(this.#clock, CONFIRM_MS_MAX, written.promise);
    this.#unconfirmed.delete(delivery_id);
    return confirmed ? { state: "sent" } : { state: "unclear", reason: "write_untold" };
  }

  /** Removes the waiter; the caller must answer it. */
  #remove(session_id: string): Waiter | undefined {
    const waiter = this.#waiters.get(session_id);
    this.#waiters.delete(session_id);
    return waiter;
  }
}

export function createHookTransport(waiters: WaitingHookList): AgentTransport {
  return {
    name: "hook",
    waits_for_turn_end: true, // It wakes an idle session.
    check: ({ runtime_session_id }) => {
      const isWaiting = runtime_session_id !== null && waiters.isWaiting(runtime_session_id);
      return Promise.resolve(toReadiness(isWaiting ? undefined : "nobody_waits"));
    },
    deliver: ({ runtime_session_id }, outgoing) =>
      waiters.deliver(runtime_session_id ?? "", outgoing),
  };
}
