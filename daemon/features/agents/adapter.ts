/** The interface of adapters: reach and observe one kind of agent, and read its hooks. */

import type { Backend, Key } from "protocol/agents/contract.ts";
import type { LimitWindow } from "protocol/limits/contract.ts";
import type { ReportedWait } from "protocol/peers/record.ts";
import type { Reason } from "protocol/reasons.ts";

/** The facts about a registered agent that its transports use. */
export interface AgentPeer {
  readonly peer_id: string;
  readonly backend: Backend | null;
  /** Path of the tmux server's socket, e.g. `/tmp/tmux-1000/default`; null outside tmux. */
  readonly tmux_socket: string | null;
  /** tmux pane id, e.g. `%3`; null outside tmux. */
  readonly pane_id: string | null;
  /** The agent's own process. A pid identifies it only together with the start time. */
  readonly agent_pid: number | null;
  /** Start time of `agent_pid`: on Linux, `/proc/<pid>/stat` field 22; on macOS, `ps` `lstart`. */
  readonly agent_started: string | null;
  /** The agent's own session id, e.g. Claude Code's `session_id`. */
  readonly runtime_session_id: string | null;
  readonly turn_state: "idle" | "working" | "awaiting_input" | "pending_first_turn" | null;
  /** The time of the last report of `turn_state`; null if there was none. */
  readonly turn_at?: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One message, framed and escaped, as the agent reads it (contract 5). */
export interface OutgoingMessage {
  readonly delivery_id: string;
  /** The id in the framed text. A prompt that contains this id proves that the message was seen. */
  readonly proof_id: string;
  readonly kind: "ask" | "notify" | "broadcast" | "ack" | "inbox_item";
  /** True if a proven human surface sent the message, so that it is an instruction of the user. */
  readonly human: boolean;
  /** The whole framed text. Starts with `[mesh] `; control characters are stripped. */
  readonly framed: string;
}

/** Readiness of a transport to take a message now. */
export type Readiness =
  | { ready: true }
  /** `waits_for`: the dialog that the agent's terminal shows. */
  | { ready: false; reason: Reason; waits_for?: ReportedWait };

/**
 * The result of an attempt. `refused` means that no byte was sent, so the next transport may be
 * tried. `unclear` means that bytes may have been sent, so no other transport may follow.
 */
export type Receipt =
  | { state: "refused"; reason: Reason }
  | { state: "sent" }
  | { state: "accepted" }
  | { state: "unclear"; reason: Reason };

export function toReadiness(refusal: Reason | undefined): Readiness {
  return refusal === undefined ? { ready: true } : { ready: false, reason: refusal };
}

export function refused(reason: Reason): Receipt {
  return { state: "refused", reason };
}

/** One way to reach an agent. `deliver` is called for one message per peer at a time. */
export interface AgentTransport {
  readonly name: "native" | "pane" | "hook";
  /** True if the agent reads text sent within a turn only after that turn. */
  readonly waits_for_turn_end?: boolean;
  /** Checks without side effects. */
  check(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Readiness>;
  /** Checks again right before it sends. Never throws for an expected error. */
  deliver(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Receipt>;
}

/** The result of typing. After `unclear`, some keys may have been typed. */
export type KeyResult =
  | { readonly state: "typed"; readonly overruled: readonly Reason[] }
  | { readonly state: "refused" | "unclear"; readonly reason: Reason };

/**
 * The result of asking an agent to stop its turn. `asked`: the request went out by this way.
 * `idle`: no turn ran, and nothing was sent. `refused`: nothing was sent.
 */
export type InterruptAttempt =
  | { readonly state: "asked"; readonly by: string }
  | { readonly state: "idle" }
  | { readonly state: "refused"; readonly reason: Reason };

/** A transport that types into the agent's terminal. */
export interface TerminalTransport extends AgentTransport {
  /**
   * Types a person's keys, all or none, with the checks of a delivery except for the reasons that
   * the person accepts. Without keys, only checks.
   */
  typeKeys(
    peer: AgentPeer,
    keys: readonly Key[],
    accepted: ReadonlySet<Reason>,
  ): Promise<KeyResult>;
}

/** Facts about the limit of an account, as far as an agent's record names them. */
export interface LimitFacts {
  /** The window that is used up, such as `five_hour`. */
  readonly window?: string | undefined;
  /** The provider's text. */
  readonly text?: string | undefined;
  /** True if the agent goes on by itself at the reset. */
  readonly continues?: boolean | undefined;
}

/** The account of an agent: what identifies it without a secret. */
export interface AgentAccount {
  /** The folder of its settings. */
  readonly home: string;
  /** The account's id or name, if the agent writes one that is no secret. */
  readonly id?: string | undefined;
}

/** The end of a turn, as one source shows it. */
export interface TurnEnd {
  /**
   * `interrupted`: by the user. `failed`: by an error or a limit. `killed`: with its process.
   * `unreported`: no source shows the kind of end.
   */
  readonly how: "completed" | "interrupted" | "failed" | "killed" | "unreported";
  /** The end of the turn, in milliseconds since 1970. */
  readonly at: number;
  /** The source, e.g. `hook`, `session file`, `app server`. */
  readonly source: string;
  /** The final message of a completed turn, or the class of the error. */
  readonly text?: string | undefined;
  /** The name of the person or peer that had an interrupted turn interrupted by the daemon. */
  readonly by?: string | undefined;
  /** The end of the limit that ended the turn. */
  readonly resets_at?: number | undefined;
  /** More facts about that limit. */
  readonly limit?: LimitFacts | undefined;
  /** The prompts that the same source shows after this end. */
  readonly prompts_since?: readonly string[] | undefined;
}

/** Observed state of an agent, without its hooks. */
export interface Observation {
  readonly alive: boolean;
  readonly turn_state: AgentPeer["turn_state"];
  readonly model?: string | undefined;
  /** The source, e.g. `session registry`, `process table`, `screen`. */
  readonly source: string;
  /** The thing that the agent waits for at its terminal. */
  readonly waits_for?: ReportedWait | undefined;
  /** The start of the turn state. Default: the time of the observation. */
  readonly at?: number | undefined;
  /** The end of the last turn, if the agent's own records say so. */
  readonly end?: TurnEnd | undefined;
  /** The end of the last turn at a limit that a hook has reported, with the time of the reset. */
  readonly end_at_limit?: TurnEnd | undefined;
}

/**
 * The finding of one source about a tool call that waits for permission:
 *
 * - `waits`: a dialog of the session is open now.
 * - `allowed`, `denied`: this very call was allowed or denied.
 * - `not_done`: this very call has no result yet.
 * - `working`: the session works, and shows no dialog.
 * - `idle`: the session's turn is over.
 * - `gone`: the process that waited has ended.
 */
export interface Evidence {
  /** Such as `hook`, `session file`, `session registry`, `app server` or `process`. */
  readonly source: string;
  readonly finding: "waits" | "allowed" | "denied" | "not_done" | "working" | "idle" | "gone";
  /** The start of the finding, by the clock of this machine. */
  readonly at: number;
}

/** A tool call that waits for permission, as readers of evidence look for it. */
export interface WaitingCall extends ToolCall {
  /** The agent at the time of the question, with the process that asked. */
  readonly peer: AgentPeer;
  readonly session_id: string;
  /** The subagent that asked; undefined for the session itself. */
  readonly agent_id: string | undefined;
  readonly asked_at: number;
}

/** The result of one transport's check; `reason` is null if it is ready. */
export interface Probe {
  readonly transport: AgentTransport["name"];
  readonly ready: boolean;
  readonly reason: Reason | null;
  /** The dialog that the agent's terminal shows. */
  readonly waits_for?: ReportedWait | undefined;
  /** The failure of the last selftest; null if it passed. */
  readonly degraded: string | null;
}

/** A session to resume, and the folder of its peer. */
export interface ResumableSession {
  readonly runtime_session_id: string;
  readonly path: string;
}

/** The arguments that resume a session, or the reason why it cannot be resumed. */
export type ResumeResult =
  | { readonly ok: true; readonly args: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** The arguments of a session that can be resumed, followed by more. */
export function withArgs(found: ResumeResult, ...more: readonly string[]): ResumeResult {
  return found.ok ? { ok: true, args: [...found.args, ...more] } : found;
}

/** Facts about the caller of an MCP call, or of a command in an agent's shell. */
export interface CallEvidence {
  /** The process that sends the call, e.g. the stdio proxy; undefined if none is named. */
  readonly pid: number | undefined;
  /** The call's `_meta`. */
  readonly meta?: unknown;
  /** The session that the caller's environment names. */
  readonly session?: string | undefined;
}

/** The answer to a hook that waits beside its session. */
export type WakeInstruction =
  | { readonly then: "write"; readonly delivery_id: string; readonly text: string }
  | { readonly then: "again" }
  | { readonly then: "end" };

/** The hooks that wait to wake their sessions. */
export interface WaitingHooks {
  /** The sessions that have a waiting hook. */
  readonly sessions: readonly string[];
  add(session_id: string, signal: AbortSignal): Promise<WakeInstruction>;
  release(session_id: string): void;
  written(delivery_id: string): void;
}

/**
 * After a prompt, the agent announces its first request to its model by a hook. An agent that
 * receives data for longer without announcing one repeats a request that its provider refuses.
 */
export interface RequestStorm {
  readonly after_ms: number;
  /** Bytes that the agent's process has received until now; undefined if unknown. */
  receivedBytes(peer: AgentPeer): number | undefined;
}

/** Reaches and observes one kind of agent; loaded by its definition (`definition.ts`). */
export interface Adapter {
  readonly backend: Backend;
  /** The transports for this message, in fallback order (architecture 3). */
  transports(peer: AgentPeer, outgoing: OutgoingMessage): readonly AgentTransport[];
  /** The best transport that the registered facts allow, whatever the agent's state is now. */
  transport(peer: AgentPeer): AgentTransport["name"] | "none";
  /** Observes the agent; undefined if it cannot be observed now. */
  observe(peer: AgentPeer): Promise<Observation | undefined>;
  /** The way to resume a session, checked against its files; absent if the agent cannot resume. */
  resume?(session: ResumableSession): ResumeResult;
  /** The process that has a session open now, if any. Absent if the agent does not record it. */
  processOf?(runtime_session_id: string): number | undefined;
  /**
   * The way to begin a copy of a session, with its conversation and an id of its own, checked
   * against its files; absent if the agent cannot copy one.
   */
  fork?(session: ResumableSession): ResumeResult;
  /**
   * The session that a call is proved to come from; undefined if it proves no session. An agent
   * whose adapter implements this is never identified by its process or pane alone (contract 6).
   */
  sessionOfCall?(evidence: CallEvidence): string | undefined;
  /**
   * Evidence from the agent's own records about a tool call that waits for permission, besides its
   * hooks and its process. Absent if it has no such records.
   */
  questionEvidence?(call: WaitingCall, now: number): Promise<readonly Evidence[]>;
  /**
   * Interrupts the running turn in the way of the agent's user. Asks only an agent that is proved
   * to be in a turn, without an open dialog: by its own server, or by its reported state together
   * with its screen. `turn_unproved` if these two differ. Absent if mesh knows no way.
   */
  interrupt?(peer: AgentPeer): Promise<InterruptAttempt>;
  /** The end of the session's last turn without a result, by the agent's own records. */
  lastEnd?(session_id: string | null): TurnEnd | undefined;
  /** Interrupts a turn that runs outside of the agent's process. Absent if none does. */
  interruptTurn?(peer: AgentPeer): Promise<unknown>;
  /** The account that an agent uses; absent if its limits are no account's. */
  account?(peer: AgentPeer & { readonly model: string | null }): AgentAccount | undefined;
  /** The used share of each window of the account, by the records of a session. */
  limitWindows?(session_id: string): readonly LimitWindow[];
  /**
   * Asks the running agent, which asks its provider, how far its account is used. Undefined if it
   * cannot answer. Absent if it takes no such question.
   */
  askForWindows?(): Promise<readonly LimitWindow[] | undefined>;
  /** The sign of an agent that sends requests to its provider without end. Absent if none does. */
  readonly storm?: RequestStorm;
  /** The hooks that wait to wake the agent's sessions. Absent if no hook can wake the agent. */
  readonly waiters?: WaitingHooks;
}

/** Facts about the hook's process, from the kernel and tmux. */
export interface HookFacts {
  /** The hook's own process, which waits for its answer. */
  readonly hook_pid?: number | undefined;
  readonly agent_pid: number | undefined;
  /** True if the hook, or the agent that it names, had ended before it could be proved. */
  readonly is_late?: boolean | undefined;
  /** True if the server that the agent's terminals share ran the hook, outside of any terminal. */
  readonly by_server?: boolean;
  readonly pane_id: string | undefined;
  /** The first process of the pane. */
  readonly pane_pid?: number | undefined;
  readonly tmux_socket: string | undefined;
  readonly tmux_session: string | undefined;
  /** The circle that the hook's pane decides, if any. */
  readonly circle: string | undefined;
}

/** A hook event's report about a subagent. */
export interface SubagentReport {
  /** The id that the agent's own program gave it. */
  readonly agent_id: string;
  /** Its kind, such as `Explore`; empty if the program names none. */
  readonly type: string;
  readonly phase: "started" | "working" | "ended";
}

/** A hook event, in terms that all agents share. */
export interface HookReport {
  readonly event: string;
  readonly session_id: string;
  readonly transcript_path?: string | undefined;
  readonly cwd?: string | undefined;
  readonly turn_state?: NonNullable<AgentPeer["turn_state"]> | undefined;
  readonly model?: string | undefined;
  /** The prompt. A message's id in it proves that the message was seen. */
  readonly prompt?: string | undefined;
  readonly last_message?: string | undefined;
  /** The thing that the agent waits for. */
  readonly waits_for?: ReportedWait | undefined;
  /** The class of the error that ended the turn. */
  readonly turn_error?: string | undefined;
  /** True if the human interrupted the turn. */
  readonly interrupted?: boolean | undefined;
  /**
   * True if the event ends a turn, and its answer can keep the turn going with a text. False if a
   * hook has already done so.
   */
  readonly may_hold_turn?: boolean | undefined;
  /** The reason for the session's end. Absent if it continues, even under another id. */
  readonly end_reason?: string | undefined;
  /** The start of the session, in the agent's own term; set only by events that begin a session. */
  readonly source?: string | undefined;
  /** True if the event reports that the conversation is compacted; its session stays the same. */
  readonly compacts?: boolean | undefined;
  /**
   * The subagent in which the event happened, or which it starts or ends. Such an event is no turn
   * of the session, and does not register the session as a peer.
   */
  readonly subagent?: SubagentReport | undefined;
  /** True if the event reports that no subagent of the session runs. */
  readonly no_subagents?: boolean | undefined;
  /** True if the event happens only within a turn. It registers no session as a peer. */
  readonly is_within_turn?: boolean | undefined;
  /** True if the agent will not go on by itself after the reset of a limit. */
  readonly stays_at_limit?: boolean | undefined;
  /** True if the agent is about to call its model. */
  readonly before_request?: boolean | undefined;
  /** True if the event can only follow the model's answer; false after a request without one. */
  readonly after_request?: boolean | undefined;
  /**
   * A tool that needs the user's permission; set only if the hook may answer for the user, and not
   * for a tool that itself asks the user.
   */
  readonly permission?: ToolCall | undefined;
  /** A tool call that has run, with its result where the hook reports it. */
  readonly ran?: ToolCall & { readonly result?: unknown } | undefined;
}

interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
}

/** The answer for a tool that needs permission. */
export interface Decision {
  readonly behavior: "allow" | "deny";
  /** The reason, for the model to read. */
  readonly message: string;
}

/** The hook that runs between two tool calls. */
export interface ToolContext {
  /** The event after a tool call, whose answer the model reads with its next request. */
  readonly event: string;
  /** True if the agent announces that request: only a later event proves it. */
  readonly awaits_request?: true;
  /** True if the proving event is reported only while the agent's marker exists. */
  readonly keeps_marker?: true;
  /**
   * Time after its last report for which an agent counts as working. Absent if the end of every
   * turn is reported, interrupted turns included.
   */
  readonly turn_ms_max?: number;
}

/** Reads and answers the hooks of one kind of agent. */
export interface HookReader {
  read(payload: unknown): HookReport;
  /**
   * The final text of the turn that this event ends, from the agent's own records, for agents whose
   * hooks do not report it reliably. Undefined if the event ends no turn.
   */
  lastMessage?(report: HookReport, payload: unknown): Promise<string | undefined>;
  /** The end of the last turn, if it had no result, by the records of the agent itself. */
  lastEnd?(session_id: string): TurnEnd | undefined;
  /** The output of the hook; `context` is the text for the model, null for none. */
  answer(
    report: HookReport,
    context: string | null,
    payload: unknown,
  ): Record<string, unknown>;
  /** The output of the hook for a decision; required if `read` reports permissions. */
  formatDecision?(decision: Decision): Record<string, unknown>;
  /**
   * The event whose answer can carry context, because the model reads it right afterwards. Context
   * for the start of a session would be read only with the first prompt, which may come much later,
   * so messages stay queued until then. Absent if there is no such event.
   */
  readonly context_event?: string;
  /**
   * The event of a session's start, if the model reads the event's answer with its next request. It
   * carries a briefing, which must reach that request even within a turn, but no messages.
   */
  readonly start_event?: string;
  /** The way to hand over messages between two tool calls. Absent if no hook can do so. */
  readonly tool_context?: ToolContext;
  /** Returns the facts that belong to the session itself. Absent if all facts do. */
  locate?(facts: HookFacts): HookFacts;
}

/** The hook readers by backend. */
export type Hooks = { readonly [B in Backend]?: HookReader };
