/**
 * Asks the human before an agent uses a gated tool. Each use is a blocking question, which the
 * human allows or denies.
 */

import type { Context } from "kit/data/context.ts";
import type { Decision } from "../../agents/adapter.ts";
import { TOOL_PERMISSION } from "../answers.ts";
import type { AskBlocking, Verdict } from "./contract.ts";
import type { BlockingRequest } from "./questions.ts";

const OPTIONS = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
/** How many characters of one value, of the whole input and of a tool's name are shown. */
const VALUE_CHARS = 400;
const INPUT_CHARS = 2_000;
const TOOL_CHARS = 100;
/** The maximum number of open questions per session. Beyond it, the agent's own dialog decides. */
const PENDING_MAX = 20;

export interface ApprovalsOptions {
  /** Names of tools, in which `*` matches any characters, e.g. `mcp__*`. */
  readonly gated_tools: readonly string[];
  /** How long the human has to answer. After that, the tool is denied. */
  readonly timeout_seconds: number;
}

export interface ApprovalsDeps {
  askBlocking(body: AskBlocking, request: BlockingRequest): Promise<Verdict>;
  nameOf(peer_id: string): string;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/** A tool that an agent wants to run. */
export interface ToolRequest {
  readonly peer_id: string;
  readonly session_id: string;
  readonly tool: string;
  readonly input: unknown;
}

export class Approvals {
  readonly #ctx: Context;
  readonly #options: ApprovalsOptions;
  readonly #deps: ApprovalsDeps;
  readonly #gatedTools: readonly string[];
  /**
   * The open questions of each session, which are aborted when the session goes on without an
   * answer.
   */
  readonly #pending = new Map<string, Set<AbortController>>();

  constructor(ctx: Context, options: ApprovalsOptions, deps: ApprovalsDeps) {
    this.#ctx = ctx;
    this.#options = options;
    this.#deps = deps;
    this.#gatedTools = options.gated_tools;
  }

  isGated(tool: string): boolean {
    return this.#gatedTools.some((pattern) => matchesPattern(pattern, tool));
  }

  /**
   * Asks the human and returns the decision, which is a denial on timeout. Undefined if the
   * question was not decided here; the agent's own dialog stays open then.
   */
  async requestDecision(request: ToolRequest, signal: AbortSignal): Promise<Decision | undefined> {
    const { shutdownSignal } = this.#deps;
    if (shutdownSignal.aborted || signal.aborted) return undefined;
    if ((this.#pending.get(request.session_id)?.size ?? 0) >= PENDING_MAX) return undefined;
    const abort = this.#begin(request.session_id);
    try {
      const abortSignal = AbortSignal.any([signal, abort.signal]);
      const blockingRequest = { signal: abortSignal, proven_human: false };
      const verdict = await this.#deps.askBlocking(this.#toQuestion(request), blockingRequest);
      // An aborted question is stored as denied, but the agent's own dialog still decides.
      const isDecided = verdict.outcome === "answered" ||
        !(abortSignal.aborted || shutdownSignal.aborted);
      return isDecided ? toDecision(verdict) : undefined;
    } finally {
      this.#end(request.session_id, abort);
    }
  }

  /**
   * Cancels the open questions of a session. Called when the session goes on, because the agent's
   * own dialog was answered.
   */
  cancelPending(session_id: string): void {
    const pending = this.#pending.get(session_id);
    if (pending) this.#ctx.db.afterCommit(() => pending.forEach((abort) => abort.abort()));
  }

  #toQuestion({ peer_id, session_id, tool, input }: ToolRequest): AskBlocking {
    const { timeout_seconds } = this.#options;
    const toolName = clean(tool, TOOL_CHARS);
    return {
      prompt: `@${this.#deps.nameOf(peer_id)} wants to use ${toolName}: ${describeInput(input)}`,
      options: OPTIONS,
      scope: TOOL_PERMISSION,
      timeout_seconds,
      from_peer: peer_id,
      metadata: { tool: toolName, session_id },
    };
  }

  #begin(session_id: string): AbortController {
    const abort = new AbortController();
    const pending = this.#pending.get(session_id) ?? new Set();
    this.#pending.set(session_id, pending.add(abort));
    return abort;
  }

  #end(session_id: string, abort: AbortController): void {
    const pending = this.#pending.get(session_id);
    pending?.delete(abort);
    if (pending?.size === 0) this.#pending.delete(session_id);
  }
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
