/**
 * Asks the human before an agent uses a gated tool. Each use is a blocking question, which the
 * human allows or denies, here or at the agent's own dialog.
 */

import { isSameJson, matchesPattern } from "kit/core/text.ts";
import { pause } from "kit/core/timeout.ts";
import type { Context } from "../../../data/context.ts";
import { readBelow } from "../../../host/agent_files.ts";
import type {
  AgentPeer,
  Decision,
  Evidence,
  HookReport,
  WaitingCall,
} from "../../agents/adapter.ts";
import { endingOf, SETTLE_MS } from "../../agents/question_evidence.ts";
import type { AgentTransports } from "../../agents/transports.ts";
import { TOOL_PERMISSION } from "protocol/messages/question.ts";
import type { Origins } from "../../origins/origins.ts";
import type { AgentPeers } from "../../peers/agent_peers.ts";
import type { Directory } from "../../peers/directory.ts";
import type { Attachments } from "../../messages/attachments/attachments.ts";
import { actOf } from "protocol/derived/acts/act.ts";
import type { AskBlocking, Verdict } from "protocol/asks/questions.ts";
import type { Act } from "protocol/messages/act.ts";
import type { Questions } from "./questions.ts";

const OPTIONS = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
/** Maximum characters shown of one value, of the whole input and of a tool's name. */
const VALUE_CHARS = 400;
const INPUT_CHARS = 2_000;
const TOOL_CHARS = 100;
/** Maximum bytes of the input, as JSON, in the question's metadata. */
const METADATA_INPUT_BYTES = 65_536;
/** Maximum bytes of a file that a change is compared with. */
const FILE_BYTES_MAX = 262_144;
/** Maximum open questions of a session and its subagents. Then the agent's own dialog decides. */
const PENDING_MAX = 20;
/** Interval between two readings of the evidence about open questions. */
const REVIEW_INTERVAL_MS = 400;

interface ApprovalsDeps {
  readonly agentPeers: Pick<AgentPeers, "find" | "getRecord">;
  readonly attachments: Pick<Attachments, "adopt">;
  readonly directory: Directory;
  readonly origins: Pick<Origins, "outsideOf">;
  readonly questions: Questions;
  readonly transports: Pick<AgentTransports, "adapterOf">;
  /** True if a process runs. */
  readonly isAlive: (pid: number, started?: string) => boolean;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
  /** Names of tools, in which `*` matches any characters, e.g. `mcp__*`. */
  readonly gated_tools: readonly string[];
  /** Time in which the human may answer. After that, the tool is denied. */
  readonly timeout_seconds: number;
}

/** A tool that an agent wants to run. */
export interface ToolRequest {
  readonly peer_id: string;
  readonly session_id: string;
  /** The agent's process, if it is proved to be the hook's. */
  readonly agent_pid: number | undefined;
  /** The subagent that wants it; absent for the session itself. */
  readonly agent_id?: string | undefined;
  readonly tool: string;
  readonly input: unknown;
  /** The agent's present folder; absent if its hook names none. */
  readonly cwd?: string | undefined;
}

/** An open question, and the evidence from hooks. */
interface PendingQuestion {
  readonly correlation_id: string;
  readonly call: WaitingCall;
  noted: Evidence[];
}

export class Approvals {
  readonly #ctx: Context;
  readonly #deps: ApprovalsDeps;
  readonly #pending = new Set<PendingQuestion>();
  #isWatching = false;

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
    if (this.#pendingOf(request.session_id).length >= PENDING_MAX) return undefined;
    const began = this.#deps.origins.outsideOf(request.peer_id);
    const act = { ...this.#toAct(request), ...began !== undefined && { covers_text: false } };
    const attachments = act.is_cut ? [await this.#storeInput(request)] : [];
    if (shutdownSignal.aborted || signal.aborted) return undefined;
    const context = { proven_human: false };
    const body = this.#toQuestion(request, began);
    const ask = questions.openAtTerminal(body, context, { act, attachments });
    const { correlation_id } = ask;
    const question: PendingQuestion = { correlation_id, call: this.#toCall(request), noted: [] };
    const onHangUp = () => this.#note(question, "gone");
    signal.addEventListener("abort", onHangUp, { once: true });
    this.#pending.add(question);
    this.#reviewAtIntervals();
    try {
      // A hook that hangs up does not end the wait. Later evidence shows how the question ended.
      return toDecision(await questions.waitForVerdict(ask, new AbortController().signal));
    } finally {
      this.#pending.delete(question);
      signal.removeEventListener("abort", onHangUp);
    }
  }

  /**
   * Records the evidence that a hook's event gives about the open questions of its session, or of
   * its subagent. An event of another process with the same session, or of another tool call, is no
   * evidence about a question.
   */
  noteEvent(report: HookReport, agent_pid: number | undefined): void {
    const { session_id, subagent, end_reason } = report;
    for (const question of this.#pendingOf(session_id)) {
      const { peer, agent_id } = question.call;
      const known = peer.agent_pid !== null && agent_pid !== undefined;
      if (known && peer.agent_pid !== agent_pid) continue;
      const isSessionEnd = end_reason !== undefined && subagent === undefined;
      if (agent_id !== subagent?.agent_id && !isSessionEnd) continue;
      const finding = findingOf(report, question.call, known);
      if (finding) this.#ctx.db.afterCommit(() => this.#note(question, finding));
    }
  }

  #note(question: PendingQuestion, finding: Evidence["finding"]): void {
    // The clock may have been set back since the question.
    const at = Math.max(this.#ctx.clock.now(), question.call.asked_at);
    question.noted.push({ source: "hook", finding, at });
    void this.#reviewInBackground(question);
  }

  /** Reads the evidence at intervals while questions are open. */
  #reviewAtIntervals(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#ctx.background.run("Watching open questions failed", this.#reviewWhilePending());
  }

  async #reviewWhilePending(): Promise<void> {
    const { clock } = this.#ctx;
    const { shutdownSignal } = this.#deps;
    while (this.#pending.size > 0 && !shutdownSignal.aborted) {
      await pause(clock, REVIEW_INTERVAL_MS, shutdownSignal);
      await Promise.all([...this.#pending].map((question) => this.#reviewInBackground(question)));
    }
    this.#isWatching = false;
  }

  #reviewInBackground(question: PendingQuestion): Promise<void> {
    return this.#ctx.background.run("Reviewing an open question failed", this.#review(question));
  }

  /** Closes a question whose dialog has ended. */
  async #review(question: PendingQuestion): Promise<void> {
    const { questions, transports, isAlive, shutdownSignal } = this.#deps;
    const { correlation_id, call, noted } = question;
    const { asked_at, peer: { backend, agent_pid, agent_started } } = call;
    const { clock } = this.#ctx;
    const read = transports.adapterOf(backend)?.questionEvidence?.(call, clock.now());
    const evidence = [...noted, ...(read ? await read : [])];
    const now = clock.now(), settle_ms = read ? SETTLE_MS : 0;
    const isGone = agent_pid !== null && !isAlive(agent_pid, agent_started ?? undefined);
    if (isGone) evidence.push({ source: "process", finding: "gone", at: 0 });
    const ending = endingOf(evidence, { asked_at, now, settle_ms });
    // An event from before the present dialog proves nothing about it after its end.
    if (evidence.some(({ finding }) => finding === "waits")) {
      question.noted = noted.filter(({ finding }) => finding !== "idle");
    }
    if (!ending || shutdownSignal.aborted || !this.#pending.has(question)) return;
    questions.endThere(correlation_id, ending.outcome);
  }

  /** The open questions of a session and its subagents. */
  #pendingOf(session_id: string): PendingQuestion[] {
    return [...this.#pending].filter(({ call }) => call.session_id === session_id);
  }

  #toCall({ peer_id, session_id, agent_pid, agent_id, tool, input }: ToolRequest): WaitingCall {
    const peer = this.#deps.agentPeers.find(peer_id) ?? unknownAgent(peer_id, session_id);
    const asked_at = this.#ctx.clock.now();
    // Another process may have taken over the record meanwhile.
    const isOther = agent_pid !== undefined && agent_pid !== peer.agent_pid;
    const process = isOther ? { agent_pid, agent_started: null } : {};
    return { peer: { ...peer, ...process }, session_id, agent_id, tool, input, asked_at };
  }

  /** The act that a person is asked to permit, beside the present files of the peer's folder. */
  #toAct({ peer_id, tool, input, cwd }: ToolRequest): Act {
    const root = this.#deps.agentPeers.getRecord(peer_id)?.path ?? null;
    const folder = cwd ?? root;
    const act = actOf({ tool, input, folder }, (path) => {
      return readBelow(root ?? "", path, FILE_BYTES_MAX);
    });
    const isCut = act.kind === "other" && inputMetadata(input).tool_input_is_cut;
    return { ...act, is_cut: act.is_cut || isCut, covers_text: true };
  }

  /** Stores an input as a file, because the question cannot show all of it. */
  async #storeInput({ input }: ToolRequest) {
    const bytes = new TextEncoder().encode(JSON.stringify(input, null, 2) ?? "null");
    const named = { filename: "tool-input.json", media_type: "application/json" };
    return await this.#deps.attachments.adopt(bytes, named);
  }

  /** `began` names what began the agent's work, if that is outside. */
  #toQuestion(
    { peer_id, session_id, tool, input }: ToolRequest,
    began: string | undefined,
  ): AskBlocking {
    const { directory, timeout_seconds } = this.#deps;
    const name = directory.address(peer_id)?.name ?? peer_id;
    const toolName = clean(tool, TOOL_CHARS);
    return {
      prompt: `@${name} wants to use ${toolName}: ${describeInput(input)}` +
        (began === undefined ? "" : `\nIt works for: ${clean(began, VALUE_CHARS)}`),
      options: OPTIONS,
      scope: TOOL_PERMISSION,
      timeout_seconds,
      from_peer: peer_id,
      metadata: { tool: toolName, session_id, ...inputMetadata(input) },
    };
  }
}

/** A peer that went offline between its hook and its question. */
function unknownAgent(peer_id: string, runtime_session_id: string): AgentPeer {
  return {
    peer_id,
    backend: null,
    tmux_socket: null,
    pane_id: null,
    agent_pid: null,
    agent_started: null,
    runtime_session_id,
    turn_state: null,
    metadata: {},
  };
}

/** The evidence of an event about a call, if any. `known`: the event's process is the call's. */
function findingOf(
  { ran, interrupted, prompt, turn_state, turn_error, end_reason, source, subagent }: HookReport,
  { tool, input }: WaitingCall,
  known: boolean,
): Evidence["finding"] | undefined {
  if (ran) return ran.tool === tool && isSameJson(ran.input, input) ? "allowed" : undefined;
  // Interrupting a turn denies the permission for which its tool waits.
  if (interrupted) return "denied";
  // A session may begin in a second process while the first one waits.
  if (source !== undefined) return known ? "idle" : undefined;
  const isOver = prompt !== undefined || turn_state === "idle" || turn_error !== undefined ||
    end_reason !== undefined || subagent?.phase === "ended";
  return isOver ? "idle" : undefined;
}

/** Only an answer with the option `allow` permits the tool. */
function toDecision({ outcome, option_id, message }: Verdict): Decision | undefined {
  if (outcome === "answered" && option_id === "allow") {
    return { behavior: "allow", message: message ?? "The human allowed it" };
  }
  const denied = outcome === "answered" || outcome === "denied" || outcome === "declined";
  return denied ? { behavior: "deny", message: message ?? "The human denied it" } : undefined;
}

/** A tool's input, such as `command: "rm -rf build", timeout: 5`. Long values are cut. */
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

/** Cuts the middle of a long text, as either end may matter; notes the missing length. */
function cut(text: string, chars_max: number): string {
  const chars = Array.from(text);
  if (chars.length <= chars_max) return text;
  const [head, tail] = [Math.ceil(chars_max * 2 / 3), Math.floor(chars_max / 3)];
  const missing = chars.length - head - tail;
  return `${chars.slice(0, head).join("")} …(${missing} more)… ${chars.slice(-tail).join("")}`;
}
