/** Urgent messages handed over between two tool calls, and the proof that each was read. */

import type { Context } from "../../data/context.ts";
import type { HookReport, ToolContext } from "../agents/adapter.ts";
import type { Receipts } from "../messages/receipts.ts";
import type { UrgentMessages } from "../messages/urgent/urgent_messages.ts";

/** Maximum sessions remembered. The messages of older sessions remain unproved. */
const SESSIONS_MAX = 1_000;
/** Maximum messages of one session that are remembered until they are proved. */
export const IDS_MAX = 200;

/** Messages that a session's hook has handed over. */
interface UnprovedMessages {
  readonly ids: readonly string[];
  /** True if the model was called since. */
  readonly requested: boolean;
}

export class ToolCallMessages {
  readonly #ctx: Context;
  readonly #receipts: Pick<Receipts, "proveHandedOver">;
  readonly #urgentMessages: Pick<UrgentMessages, "awaitProof" | "refresh" | "release">;
  readonly #handedOver = new Map<string, UnprovedMessages>();

  constructor(
    ctx: Context,
    receipts: Pick<Receipts, "proveHandedOver">,
    urgentMessages: Pick<UrgentMessages, "awaitProof" | "refresh" | "release">,
  ) {
    this.#ctx = ctx;
    this.#receipts = receipts;
    this.#urgentMessages = urgentMessages;
  }

  /** Remembers what the answer to this event holds. */
  remember(
    { session_id }: HookReport,
    { ids, agent, tool }: { ids: readonly string[]; agent: string; tool: ToolContext },
  ): void {
    this.#ctx.db.afterCommit(() => {
      const before = this.#handedOver.get(session_id)?.ids ?? [];
      const requested = tool.awaits_request !== true;
      this.#handedOver.delete(session_id);
      const latest = [...before, ...ids].slice(-IDS_MAX);
      this.#handedOver.set(session_id, { ids: latest, requested });
      const [oldest] = this.#handedOver.keys();
      if (this.#handedOver.size > SESSIONS_MAX && oldest !== undefined) this.forget(oldest);
      if (tool.keeps_marker) this.#urgentMessages.awaitProof(session_id, agent);
      else this.#urgentMessages.refresh();
    });
  }

  /**
   * Proves the messages that the model read before this event. A request to the model must precede
   * the event.
   */
  prove({ session_id, before_request, after_request }: HookReport): void {
    const handed = this.#handedOver.get(session_id);
    if (!handed) return;
    if (after_request && handed.requested) {
      this.#receipts.proveHandedOver(handed.ids);
      this.#afterCommitUnlessChanged(session_id, () => this.forget(session_id));
    } else if (before_request) {
      const requested = { ids: handed.ids, requested: true };
      this.#afterCommitUnlessChanged(session_id, () => this.#handedOver.set(session_id, requested));
    }
  }

  /** The event does not prove messages that are handed over in the same commit. */
  #afterCommitUnlessChanged(session_id: string, change: () => void): void {
    const handed = this.#handedOver.get(session_id);
    this.#ctx.db.afterCommit(() => {
      if (this.#handedOver.get(session_id) === handed) change();
    });
  }

  /** Forgets a session. Its unproved messages remain unproved. */
  forget(session_id: string): void {
    this.#handedOver.delete(session_id);
    this.#urgentMessages.release(session_id);
  }
}
