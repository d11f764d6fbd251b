/** The messages that the hook of a prompt has handed over, and the proof that each was read. */

import type { Context } from "../../data/context.ts";
import type { HookReport } from "../agents/adapter.ts";
import type { Receipts } from "../messages/receipts.ts";

/**
 * The next event of a session proves the messages of its last prompt seen, unless the event reports
 * that the model was not called or did not answer.
 */
export class PromptMessages {
  readonly #ctx: Context;
  readonly #receipts: Pick<Receipts, "proveHandedOver">;
  readonly #handedOver = new Map<string, readonly string[]>();

  constructor(ctx: Context, receipts: Pick<Receipts, "proveHandedOver">) {
    this.#ctx = ctx;
    this.#receipts = receipts;
  }

  /** Remembers what the answer to a prompt holds. */
  remember(session_id: string, delivery_ids: readonly string[]): void {
    if (delivery_ids.length === 0) return;
    this.#ctx.db.afterCommit(() => this.#handedOver.set(session_id, delivery_ids));
  }

  /**
   * Proves the messages that the model has read according to this event. A failed turn proves none.
   */
  prove({ session_id, turn_error, before_request, after_request }: HookReport): void {
    const handedOver = this.#handedOver.get(session_id);
    if (!handedOver) return;
    if (turn_error === undefined) {
      if (before_request || after_request === false) return;
      this.#receipts.proveHandedOver(handedOver);
    }
    this.#ctx.db.afterCommit(() => this.forget(session_id));
  }

  /** Forgets a session. Its unproved messages remain unproved. */
  forget(session_id: string): void {
    this.#handedOver.delete(session_id);
  }
}
