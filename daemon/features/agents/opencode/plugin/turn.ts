/**
 * The turn of the active session: whether it is busy, its dialogs, its answer, and the unread
 * messages.
 */

import type { Frame } from "./connection.ts";
import type { Info, Model, Part, Properties } from "./opencode.ts";

/** An assistant's message. `texts` has its text by the id of the part. */
interface Answer {
  readonly id: string;
  readonly texts: Map<string, string>;
}

/** The wait of the agent, in a status frame. */
interface Wait {
  readonly kind: "permission" | "question" | "limit";
  /** An instant. */
  readonly resets_at?: string;
}

/** The provider's messages at a limit. Other errors that opencode retries pass by themselves. */
const LIMIT = /\b(rate|usage)[ _-]?limit|quota|too many requests|\b429\b/i;

export class Turn {
  busy = false;
  /** False before the first prompt of a session that this process created. */
  hasBegun = false;
  model: string | undefined;
  /** The open dialogs by their ids, each with its session. */
  readonly #dialogs = new Map<string, { session: string | undefined; wait: Wait }>();
  /** The limit after whose end opencode tries the model again. */
  #limit: Wait | undefined;
  /**
   * True after a declined dialog, because opencode then ends the turn without reading later
   * messages.
   */
  #declined = false;
  #answer: Answer = { id: "", texts: new Map() };
  /**
   * Our messages that no answer has followed yet, as a map from message id to the delivery's proof.
   */
  readonly #unread = new Map<string, string>();

  /** Resets the turn, because another session became active. */
  begin({ hasBegun }: { hasBegun: boolean }): void {
    this.busy = false;
    this.hasBegun = hasBegun;
    this.#unread.clear();
  }

  get atDialog(): boolean {
    return this.#dialogs.size > 0;
  }

  /**
   * True if a prompt would be read. False at a dialog, because a message that arrives there is
   * never read if the dialog is declined.
   */
  get takesPrompts(): boolean {
    return !this.atDialog && !this.#declined;
  }

  /** Called when the state of the session changes. A limit makes opencode try again later. */
  changeStatus({ type, message = "", next }: NonNullable<Properties["status"]>): void {
    this.busy = type !== "idle";
    const isLimit = type === "retry" && LIMIT.test(message);
    const reset = next !== undefined && { resets_at: new Date(next).toISOString() };
    this.#limit = isLimit ? { kind: "limit", ...reset } : undefined;
  }

  dialog(type: string, { id = "", requestID = "", sessionID, reply }: Properties): void {
    const kind = type.startsWith("permission") ? "permission" : "question";
    if (type.endsWith(".asked")) this.#dialogs.set(id, { session: sessionID, wait: { kind } });
    else if (this.#dialogs.delete(requestID)) {
      this.#declined = reply === "reject" || type.endsWith(".rejected");
    }
  }

  /**
   * Called when the assistant answers a message. All earlier messages then count as read, too,
   * because ids ascend.
   */
  beginAnswer({ id = "", parentID = "", ...model }: Info): void {
    if (id !== this.#answer.id) this.#answer = { id, texts: new Map() };
    for (const sent of this.#unread.keys()) if (sent <= parentID) this.#unread.delete(sent);
    this.setModel(model);
  }

  part({ id = "", messageID, type, text = "" }: Part): void {
    if (type === "text" && messageID === this.#answer.id) this.#answer.texts.set(id, text);
  }

  setModel(model: Model | undefined): void {
    if (model?.providerID && model.modelID) this.model = `${model.providerID}/${model.modelID}`;
  }

  /** Called when the turn of this session has ended. Returns the text of the turn's last answer. */
  end(session: string | undefined): { readonly id: string; readonly text: string } {
    this.busy = false;
    this.#declined = false;
    this.#limit = undefined;
    for (const [id, dialog] of this.#dialogs) {
      if (dialog.session === session) this.#dialogs.delete(id);
    }
    const { id, texts } = this.#answer;
    this.#answer = { id: "", texts: new Map() };
    return { id, text: [...texts.values()].join("\n") };
  }

  sent(message_id: string, proof: string): void {
    this.#unread.set(message_id, proof);
  }

  get hasUnread(): boolean {
    return this.#unread.size > 0;
  }

  /** The proofs of the unread messages, each returned once. */
  takeUnread(): readonly string[] {
    const proofs = [...this.#unread.values()];
    this.#unread.clear();
    return proofs;
  }

  /** The status frame for the daemon. */
  get status(): Frame {
    const rest = this.hasBegun ? "idle" : "pending_first_turn";
    const turn_state = this.atDialog ? "awaiting_input" : this.busy ? "working" : rest;
    const status = this.busy || this.atDialog ? "busy" : "online";
    const model = this.model ? { model: this.model } : {};
    const [dialog] = this.#dialogs.values();
    const waits_for = dialog?.wait ?? this.#limit;
    return { type: "status", status, turn_state, ...model, ...(waits_for && { waits_for }) };
  }
}
