/** The record of one prompt while it runs: its proof, the agent's text, its tool calls. */

import { cleanLine } from "kit/core/text.ts";
import { isOfPrompt, messageText, type ToolCall, toolCallOf, type Update } from "./protocol.ts";

/** Size limits of the record of a turn. The agent itself shows the rest. */
export const TURN_CHARS_MAX = 100_000;
export const TOOL_CALLS_MAX = 50;
const TITLE_CHARS_MAX = 200;

export interface TurnListener {
  /** Called once, when the agent starts to work on the prompt: it has therefore read the prompt. */
  seen(): void;
  /** Called when the agent begins to use a tool. */
  tool(title: string): void;
}

export class Turn {
  readonly #listener: TurnListener;
  readonly #proves: boolean;
  readonly #tools = new Map<string, ToolCall>();
  #text = "";
  #isSeen = false;

  /** `updatesProve` is false where updates may belong to an earlier turn. */
  constructor(listener: TurnListener, { updatesProve }: { readonly updatesProve: boolean }) {
    this.#listener = listener;
    this.#proves = updatesProve;
  }

  update(update: Update): void {
    if (this.#proves && isOfPrompt(update)) this.seen();
    const call = toolCallOf(update);
    if (call) this.#keep(call);
    const text = messageText(update);
    if (this.#text.length < TURN_CHARS_MAX) this.#text += text.slice(0, TURN_CHARS_MAX);
  }

  seen(): void {
    if (this.#isSeen) return;
    this.#isSeen = true;
    this.#listener.seen();
  }

  get text(): string {
    return this.#text.slice(0, TURN_CHARS_MAX).trim();
  }

  /** The tools that the agent has called, as a turn's record shows them. */
  get toolCalls(): readonly object[] {
    return Array.from(this.#tools.values(), (call) => ({
      name: titleOf(call),
      ...(call.kind && { kind: call.kind }),
      ...(call.status && { status: call.status }),
    }));
  }

  /** A tool call with the fields of its earlier updates. */
  merged(call: ToolCall): ToolCall {
    const known = this.#tools.get(call.toolCallId);
    return {
      toolCallId: call.toolCallId,
      title: call.title ?? known?.title,
      kind: call.kind ?? known?.kind,
      status: call.status ?? known?.status,
      rawInput: call.rawInput ?? known?.rawInput,
      content: call.content ?? known?.content,
    };
  }

  #keep(call: ToolCall): void {
    const isNew = !this.#tools.has(call.toolCallId);
    if (isNew && this.#tools.size >= TOOL_CALLS_MAX) return;
    this.#tools.set(call.toolCallId, this.merged(call));
    if (isNew) this.#listener.tool(titleOf(call));
  }
}

export function titleOf({ title, kind }: Pick<ToolCall, "title" | "kind">): string {
  return cleanLine(title ?? "").slice(0, TITLE_CHARS_MAX) || kind || "a tool";
}
