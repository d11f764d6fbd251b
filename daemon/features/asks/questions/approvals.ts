/**
 * Asks the human before an agent uses a gated tool. Each use is a blocking question, which the
 * human allows or denies.
 */

import type { Context } from "kit/data/context.ts";
import type { Decision } from "../../agents/adapter.ts";
import { TOOL_PERMISSION } from "../answers.ts";
import type { Directory } from "../../peers/directory.ts";
import type { AskBlocking, Verdict } from "./contract.ts";
import type { Questions } from "./questions.ts";

const OPTIONS = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
/** How many characters of one value, of the whole input and of a tool's name are shown. */
const VALUE_CHARS = 400;
const INPUT_CHARS = 2_000;
const TOOL_CHARS = 100;
/** How many bytes of the input, as JSON, the question's metadata hold. */
const METADATA_INPUT_BYTES = 65_536;
/**
 * The maximum number of open questions per session, with its subagents. Beyond it, the agent's own
 * dialog decides.
 */
const PENDING_MAX = 20;

export interface ApprovalsDeps {
  readonly directory: Directory;
  readonly questions: Questions;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
  /** Names of tools, in which `*` matches any characters, e.g. `mcp__*`. */
  readonly gated_tools: readonly string[];
  /** How long the human has to answer. After that, the tool is denied. */
  readonly timeout_seconds: number;
}

/** A tool that an agent wants to run. */
export interface ToolRequest {
  readonly peer_id: string;
  readonly session_id: string;
  /** The subagent that wants it; absent for the session itself. */
  readonly agent_id?: string | undefined;
  readonly tool: string;
  readonly input: unknown;
}

export class Approvals {
  readonly #ctx: Context;
  readonly #deps: ApprovalsDeps;
  /**
   * The open questions of each session and of each subagent. They are aborted when it goes on
   * without an answer.
   */
  readonly #pending = new Map<string, Set<AbortController>>();

  constructor(ctx: Context, deps: ApprovalsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  isGated(tool: string): boolean {
    return this.#deps.gated_tools.some((pattern) => matchesPattern(pattern, tool));
  }

  /**
   * Asks the human and returns the decision, which is a denial on timeout. Undefined if the
   * question was not decided here; the agent's own dialog stays open then.
   */
  async requestDecision(request: ToolRequest, signal: AbortSignal): Promise<Decision | undefined> {
    const { questions, shutdownSignal } = this.#deps;
    if (shutdownSignal.aborted || signal.aborted) return undefined;
    const asker = askerOf(request.session_id, request.agent_id);
    if (this.#pendingOf(request.session_id) >= PENDING_MAX) return undefined;
    const pending = this.#pending.getOrInsertComputed(asker, () => new Set());
    const abort = new AbortController();
    pending.add(abort);
    try {
      const abortSignal = AbortSignal.any([signal, abort.signal]);
      const blockingRequest = { signal: abortSignal, proven_human: false };
      const verdict = await questions.askBlocking(this.#toQuestion(request), blockingRequest);
      // An aborted question is stored as denied, but the agent's own dialog still decides.
      const isDecided = verdict.outcome === "answered" ||
        !(abortSignal.aborted || shutdownSignal.aborted);
      return isDecided ? toDecision(verdict) : undefined;
    } finally {
      pending.delete(abort);
      if (pending.size === 0) this.#pending.delete(asker);
    }
  }

  /**
   * Cancels the open questions of a session, or of one of its subagents. Called when it goes on,
   * because the agent's own dialog was answered. A session goes on while its subagents wait.
   */
  cancelPending(session_id: string, agent_id?: string): void {
    const pending = this.#pending.get(askerOf(session_id, agent_id));
    if (pending) this.#ctx.db.afterCommit(() => pending.forEach((abort) => abort.abort()));
  }

  /** Cancels the open questions of all subagents of a session, which has ended. */
  cancelOfSubagents(session_id: string): void {
    for (const [asker, pending] of this.#pending) {
      if (!asker.startsWith(askerOf(session_id, ""))) continue;
      this.#ctx.db.afterCommit(() => pending.forEach((abort) => abort.abort()));
    }
  }

  /** How many questions of a session and its subagents are open. */
  #pendingOf(session_id: string): number {
    let count = this.#pending.get(session_id)?.size ?? 0;
    for (const [asker, pending] of this.#pending) {
      if (asker.startsWith(askerOf(session_id, ""))) count += pending.size;
    }
    return count;
  }

  #toQuestion({ peer_id, session_id, tool, input }: ToolRequest): AskBlocking {
    const { directory, timeout_seconds } = this.#deps;
    const name = directory.address(peer_id)?.name ?? peer_id;
    const toolName = clean(tool, TOOL_CHARS);
    return {
      prompt: `@${name} wants to use ${toolName}: ${describeInput(input)}`,
      options: OPTIONS,
      scope: TOOL_PERMISSION,
      timeout_seconds,
      from_peer: peer_id,
      metadata: { tool: toolName, session_id, ...inputMetadata(input) },
    };
  }
}

/** The key of what asks: a session, or a subagent in it. */
function askerOf(session_id: string, agent_id: string | undefined): string {
  return agent_id === undefined ? session_id : `${session_id}\n${agent_id}`;
}

/** Only an answer with the option `allow` permits the tool. */
function toDecision({ outcome, option_id, message }: Verdict): Decision | undefined {
  if (outcome === "answered" && option_id === "allow") {
    return { behavior: "allow", message: message ?? "The human allowed it" };
  }
  const denied = outcome === "answered" || outcome === "denied" || outcome === "declined";
  return denied ? { behavior: "deny", message: message ?? "The human denied it" } : undefined;
}

/**
 * Whether a pattern matches the whole name of a tool; upper and lower case differ. A `*` in the
 * pattern matches any characters. Each piece between them is matched at its first occurrence, so
 * the time is linear.
 */
export function matchesPattern(pattern: string, tool: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return tool === pattern;
  if (!tool.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = tool.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return tool.length - last.length >= at && tool.endsWith(last);
}

/**
 * Describes a tool's input, such as `command: "rm -rf build", timeout: 5`. Long values are cut in
 * the middle.
 */
function describeInput(input: unknown): string {
  const fields = typeof input === "object" && input !== null && !Array.isArray(input)
    ? Object.entries(input).map(([key, value]) =>
      `${clean(key, TOOL_CHARS)}: ${describeValue(value)}`
    )
    : [describeValue(input)];
  return cut(fields.join(", "), INPUT_CHARS) || "(no input)";
}

function describeValue(value: unknown): string {
  return clean(JSON.stringify(value) ?? "null", VALUE_CHARS);
}

/**
 * The whole input as indented JSON, for surfaces that can show more than one line. It holds hidden
 * characters as they are. If `tool_input_is_cut`, the middle is missing.
 */
function inputMetadata(input: unknown): { tool_input: string; tool_input_is_cut: boolean } {
  const json = JSON.stringify(input, null, 2) ?? "null";
  const bytes = new TextEncoder().encode(json);
  if (bytes.length <= METADATA_INPUT_BYTES) return { tool_input: json, tool_input_is_cut: false };
  const isInsideChar = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let [end, start] = [METADATA_INPUT_BYTES / 2, bytes.length - METADATA_INPUT_BYTES / 2 + 64];
  while (isInsideChar(end)) end--;
  while (isInsideChar(start)) start++;
  const [head, tail] = [bytes.subarray(0, end), bytes.subarray(start)]
    .map((part) => new TextDecoder().decode(part));
  const tool_input = `${head} …(${start - end} more bytes)… ${tail}`;
  return { tool_input, tool_input_is_cut: true };
}

/** Replaces control, invisible, direction-changing and space characters by single spaces. */
function clean(text: string, chars_max: number): string {
  return cut(text.toWellFormed().replace(/[\p{C}\p{Z}]+/gu, " "), chars_max);
}

/** Cuts the middle of a long text, because either end may matter, and says how much is missing. */
function cut(text: string, chars_max: number): string {
  const chars = Array.from(text);
  if (chars.length <= chars_max) return text;
  const [head, tail] = [Math.ceil(chars_max * 2 / 3), Math.floor(chars_max / 3)];
  const missing = chars.length - head - tail;
  return `${chars.slice(0, head).join("")} …(${missing} more)… ${chars.slice(-tail).join("")}`;
}
