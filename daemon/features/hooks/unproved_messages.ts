/** Messages that hooks have handed over to their agents, and the proof that each was read. */

import type { Context } from "../../data/context.ts";
import type { HookReport, ToolContext } from "../agents/adapter.ts";
import type { Receipts } from "../messages/receipts.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { UrgentMessages } from "../messages/urgent_messages.ts";

/** Maximum sessions remembered. The messages of older sessions remain unproved. */
const SESSIONS_MAX = 1_000;
/** Maximum messages of one session that are remembered until they are proved. */
export const MESSAGES_MAX = 200;

/** Messages that a session's hook has handed over between two tool calls. */
interface ToolCallMessages {
  readonly seqs: readonly number[];
  /** True if the model was called since. */
  readonly requested: boolean;
}

interface UnprovedMessagesDeps {
  readonly receipts: Pick<Receipts, "proveHandedOver">;
  readonly urgentMessages: Pick<UrgentMessages, "awaitProof" | "refresh" | "release">;
}

export class UnprovedMessages {
  readonly #ctx: Context;
  readonly #deps: UnprovedMessagesDeps;
  /** The row numbers of the messages of each session's last prompt. */
  readonly #ofPrompts = new Map<string, readonly number[]>();
  readonly #ofToolCalls = new Map<string, ToolCallMessages>();

  constructor(ctx: Context, deps: UnprovedMessagesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Remembers the messages in the answer to a prompt. */
  rememberPrompt(session_id: string, messages: readonly StoredMessage[]): void {
    if (messages.length === 0) return;
    const seqs = messages.map(({ seq }) => seq);
    this.#ctx.db.afterCommit(() => this.#ofPrompts.set(session_id, seqs));
  }

  /** Remembers the messages in the answer to a tool call. */
  rememberToolCall(
    { session_id }: HookReport,
    messages: readonly StoredMessage[],
    { agent, tool }: { readonly agent: string; readonly tool: ToolContext },
  ): void {
    this.#ctx.db.afterCommit(() => {
      const { urgentMessages } = this.#deps;
      const before = this.#ofToolCalls.get(session_id)?.seqs ?? [];
      const requested = tool.awaits_request !== true;
      this.#ofToolCalls.delete(session_id);
      const seqs = [...before, ...messages.map(({ seq }) => seq)].slice(-MESSAGES_MAX);
      this.#ofToolCalls.set(session_id, { seqs, requested });
      const [oldest] = this.#ofToolCalls.keys();
      if (this.#ofToolCalls.size > SESSIONS_MAX && oldest !== undefined) {
        this.#forgetToolCalls(oldest);
      }
      if (tool.keeps_marker) urgentMessages.awaitProof(session_id, agent);
      else urgentMessages.refresh();
    });
  }

  /**
   * Records that the model has read messages of earlier answers, if this event proves it. An
   * interruption proves none.
   */
  prove(report: HookReport): void {
    if (report.interrupted) {
      return this.#ctx.db.afterCommit(() => this.forget(report.session_id));
    }
    this.#provePrompt(report);
    this.#proveToolCalls(report);
  }

  /** Forgets a session. Its unproved messages are named at a later prompt. */
  forget(session_id: string): void {
    this.#ofPrompts.delete(session_id);
    this.#forgetToolCalls(session_id);
  }

  /**
   * The next event of a session proves the messages of its last prompt, unless the event reports
   * that the model was not called or did not answer. A failed turn proves none.
   */
  #provePrompt({ session_id, turn_error, before_request, after_request }: HookReport): void {
    const seqs = this.#ofPrompts.get(session_id);
    if (!seqs) return;
    if (turn_error === undefined) {
      if (before_request || after_request === false) return;
      this.#deps.receipts.proveHandedOver(seqs);
    }
    this.#ctx.db.afterCommit(() => this.#ofPrompts.delete(session_id));
  }

  /** A request to the model must precede the event that proves the messages of a tool call. */
  #proveToolCalls({ session_id, before_request, after_request }: HookReport): void {
    const messages = this.#ofToolCalls.get(session_id);
    if (!messages) return;
    if (after_request && messages.requested) {
      this.#deps.receipts.proveHandedOver(messages.seqs);
      this.#afterCommitUnlessChanged(session_id, () => this.#forgetToolCalls(session_id));
    } else if (before_request) {
      const requested = { seqs: messages.seqs, requested: true };
      const set = () => this.#ofToolCalls.set(session_id, requested);
      this.#afterCommitUnlessChanged(session_id, set);
    }
  }

  /** The event does not prove messages that are handed over in the same commit. */
  #afterCommitUnlessChanged(session_id: string, change: () => void): void {
    const before = this.#ofToolCalls.get(session_id);
    this.#ctx.db.afterCommit(() => {
      if (this.#ofToolCalls.get(session_id) === before) change();
    });
  }

  #forgetToolCalls(session_id: string): void {
    this.#ofToolCalls.delete(session_id);
    this.#deps.urgentMessages.release(session_id);
  }
}
