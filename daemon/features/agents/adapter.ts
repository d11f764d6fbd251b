/** What the house asks of an adapter: how to reach one kind of agent, and what to believe of it. */

import type { Backend } from "./contract.ts";
import type { Reason } from "kit/core/reasons.ts";

/** A registered agent, as far as a transport needs to know it. */
export interface AgentPeer {
  readonly peer_id: string;
  readonly backend: Backend | null;
  /** Path of the tmux server's socket, e.g. `/tmp/tmux-1000/default`; null outside tmux. */
  readonly tmux_socket: string | null;
  /** tmux pane id, e.g. `%3`; null outside tmux. */
  readonly pane_id: string | null;
  /** The agent's own process. A pid means nothing without its start time. */
  readonly agent_pid: number | null;
  /** Start time of `agent_pid` in clock ticks since boot (`/proc/<pid>/stat`, field 22). */
  readonly agent_started: string | null;
  /** The agent's own session id, e.g. Claude Code's `session_id`. */
  readonly runtime_session_id: string | null;
  readonly turn_state: "idle" | "working" | "awaiting_input" | "pending_first_turn" | null;
  /** When that was last told; null when it never was. */
  readonly turn_at?: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One message, framed and escaped, as the agent is to read it (contract 5). */
export interface OutgoingMessage {
  readonly delivery_id: string;
  /** The id that the framed text carries, and by which a prompt proves it `seen`. */
  readonly proof_id: string;
  readonly kind: "ask" | "notify" | "broadcast" | "ack" | "inbox_item";
  /** True when a proven human door sent it: an instruction of the user's. */
  readonly human: boolean;
  /** The whole framed text; starts with `[mesh] `; control characters are already stripped. */
  readonly framed: string;
}

/** Whether a transport may take a message now. */
export type Readiness = { ready: true } | { ready: false; reason: Reason };

/**
 * What is known after an attempt. `refused` is a definite no: not one byte went out, and the next
 * transport may be tried. `unclear`: bytes may have gone out, and no other transport may follow.
 */
export type Receipt =
  | { state: "refused"; reason: Reason }
  | { state: "sent" }
  | { state: "accepted" }
  | { state: "unclear"; reason: Reason };

/** One way to reach an agent. The delivery desk calls `deliver` for one message a peer at a time. */
export interface AgentTransport {
  readonly name: "native" | "pane" | "hook";
  /** Evidence of now, without side effects. */
  check(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Readiness>;
  /** Never throws for an expected fault; checks its guards again at the last moment. */
  deliver(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Receipt>;
}

/** What is known of an agent without its help: each fact with its source. */
export interface Observation {
  readonly alive: boolean;
  readonly turn_state: AgentPeer["turn_state"];
  readonly model?: string | undefined;
  /** Where it was seen, e.g. `session registry`, `process table`, `screen`. */
  readonly source: string;
  /** Since when the turn is so, where that is told; else it is as old as the look. */
  readonly at?: number | undefined;
}

/** What one transport says of an agent now; `reason` is null when it is ready. */
export interface Probe {
  readonly transport: AgentTransport["name"];
  readonly ready: boolean;
  readonly reason: Reason | null;
  /** What failed when it was tested last; null where nothing did. */
  readonly degraded: string | null;
}

/** The arguments that take a session up again, once its own file was found; or why they cannot. */
export type ResumeResult =
  | { readonly ok: true; readonly args: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** What an MCP call shows of its caller. */
export interface CallEvidence {
  /** The process that carries the call, e.g. the stdio proxy's; undefined when it says none. */
  readonly pid: number | undefined;
  /** The call's `_meta`. */
  readonly meta: unknown;
}

/** What a hook that waits beside its session is told to do. */
export type WakeInstruction =
  | { readonly then: "write"; readonly delivery_id: string; readonly text: string }
  | { readonly then: "again" }
  | { readonly then: "end" };

/** The hooks that wait to wake their sessions. */
export interface WaitingHooks {
  /** The sessions that have one. */
  readonly sessions: readonly string[];
  add(session_id: string, signal: AbortSignal): Promise<WakeInstruction>;
  release(session_id: string): void;
  written(delivery_id: string): void;
}

/** How one kind of agent is reached and observed; its definition loads it (`definition.ts`). */
export interface Adapter {
  readonly backend: Backend;
  /** The ladder for this message, best transport first (architecture 3). */
  transports(peer: AgentPeer, outgoing: OutgoingMessage): readonly AgentTransport[];
  /** The best way to this agent that there could be, from what is registered of it. */
  transport(peer: AgentPeer): AgentTransport["name"] | "none";
  /** What can be observed now; undefined when nothing can. */
  observe(peer: AgentPeer): Promise<Observation | undefined>;
  /** How to take a session up again, checked against what is on the disk; absent if no way is. */
  resume?(
    session: { readonly runtime_session_id: string; readonly path: string },
  ): Promise<ResumeResult>;
  /**
   * The session that a call proves to come from; undefined when it proves none. An agent whose
   * adapter says so is never known by its process or pane alone (contract 6).
   */
  sessionOfCall?(evidence: CallEvidence): string | undefined;
  /** Breaks off what its session does beyond its own process; absent where that holds it all. */
  interruptTurn?(peer: AgentPeer): Promise<void>;
  /** Absent where no hook of the agent's can wake it. */
  readonly waiters?: WaitingHooks;
}

/** What the kernel and tmux said of the hook's process. */
export interface HookFacts {
  /** The hook's own process, which waits for its answer meanwhile. */
  readonly hook_pid?: number | undefined;
  readonly agent_pid: number | undefined;
  readonly pane_id: string | undefined;
  readonly tmux_socket: string | undefined;
  readonly tmux_session: string | undefined;
  /** The circle that its window is, where windows bound circles. */
  readonly circle: string | undefined;
}

/** What a hook saw, in words that all agents share. */
export interface HookReport {
  readonly event: string;
  readonly session_id: string;
  readonly transcript_path?: string | undefined;
  readonly cwd?: string | undefined;
  readonly turn_state?: NonNullable<AgentPeer["turn_state"]> | undefined;
  readonly model?: string | undefined;
  /** What the agent was asked. The id of a message in it proves that the message was seen. */
  readonly prompt?: string | undefined;
  readonly last_message?: string | undefined;
  /** Why the session ended; set when it did, and will not go on under another id. */
  readonly end_reason?: string | undefined;
  /** How the session began, in the agent's own word: only an event that begins one has it. */
  readonly source?: string | undefined;
  /** It is of an agent inside the session, which alone makes no peer. */
  readonly is_subagent?: boolean | undefined;
  /** A tool that the agent asks its user about; only where its hook may answer for the user. */
  readonly permission?: { readonly tool: string; readonly input: unknown } | undefined;
}

/** What the agent is told of a tool that it asked its user about. */
export interface Decision {
  readonly behavior: "allow" | "deny";
  /** Why, for the model to read. */
  readonly message: string;
}

/** How one kind of agent speaks in its hooks. */
export interface HookReader {
  read(payload: unknown): HookReport;
  /**
   * The last text of the turn that this event ends, from the agent's own records: for one whose
   * hooks do not tell it, or not it alone. Undefined where the event ends no turn.
   */
  lastMessage?(report: HookReport, payload: unknown): Promise<string | undefined>;
  /** What the hook prints; `context` is what the agent is to read, null for nothing. */
  answer(payload: unknown, context: string | null): Record<string, unknown>;
  /** What the hook prints for a tool that was decided on; where `read` tells of permissions. */
  formatDecision?(decision: Decision): Record<string, unknown>;
  /** Whether an answer to this event can carry a context. */
  acceptsContext(event: string): boolean;
  /** What of the hook's surroundings is the session's own; absent where all of it is. */
  locate?(facts: HookFacts): HookFacts;
}

/** The agents whose hooks are read here. */
export type Hooks = { readonly [B in Backend]?: HookReader };
