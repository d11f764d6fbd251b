/** The agents desk: which transports lead to an agent, and what its hooks tell. */

import { Name } from "kit/core/schema.ts";
import { pause } from "kit/core/timeout.ts";
import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { StoredMessage } from "../messages/contract.ts";
import { type Offline, type Registration, type Turn } from "../peers/contract.ts";
import { Backend, type Transport } from "../agents/contract.ts";
import type {
  Adapter,
  AgentPeer,
  AgentTransport,
  CallEvidence,
  Decision,
  HookFacts,
  HookReader,
  HookReport,
  Hooks,
  Observation,
  OutgoingMessage,
  Probe,
  WakeInstruction,
} from "../agents/adapter.ts";
import { truncateFramed } from "../agents/pane_transport.ts";
import type { KnownFailures } from "../agents/selftest/known_failures.ts";

/** A message that only asks a transport whether it would take one; it is never delivered. */
const PROBE_MESSAGE: OutgoingMessage = {
  delivery_id: "probe",
  proof_id: "probe",
  kind: "notify",
  human: false,
  framed: "[mesh] probe",
};

/** Messages, and bytes of them, that one prompt's context carries at most. */
const CONTEXT_MESSAGES_MAX = 5;
const CONTEXT_BYTES_MAX = 8_192;

/** How often agents are looked at. Their hooks tell at once; this is for those that have none. */
const OBSERVE_INTERVAL_MS = 2_000;
/** A hook that waits is answered by then; it asks again, unless its session is gone. */
const WAIT_MS_MAX = 5 * 60_000;
/** A session's first hooks come all at once: the one that registers it may be second. */
const REGISTRATION_WAIT_MS_MAX = 2_000;

/** How a hook's registration came in. */
export interface Entrance {
  readonly by_hook: boolean;
  isProcess(pid: number): boolean;
}

export interface AgentsDeps {
  readonly adapters: readonly Adapter[];
  readonly hooks: Hooks;
  readonly knownFailures: KnownFailures;
  readonly peers: {
    register(registration: Registration, entrance: Entrance): { peer_id: string };
    turn(peer_id: string, turn: Turn): void;
    offline(peer_id: string, cause: Offline): void;
    /** The peer into whose pane this prompt was typed, where its session told no pane. */
    peerOfPrompt(peer_id: string, prompt: string): string;
    findBySession(runtime_session_id: string): { peer_id: string } | undefined;
    /** Everyone that a transport could reach. */
    reachableAgents(): AgentPeer[];
    /** Those without a process who are offline because nobody has seen them. */
    unobservedAgents(): AgentPeer[];
    markSeen(peer_id: string, transport: string): void;
    /** What was seen from outside. */
    applyObservation(peer: AgentPeer, seen: Observation): void;
  };
  readonly delivery: {
    handToHook(peer_id: string, limits: { messages: number; bytes: number }): StoredMessage[];
    nameUnproved(peer_id: string, limit: number): StoredMessage[];
    settle(delivery_ids: readonly string[], status: "seen"): void;
  };
  /** Something has changed about the ways to a peer. */
  wake(peer_id: string): void;
  /** Aborted when the daemon goes down. */
  readonly shutdownSignal: AbortSignal;
  outgoing(message: StoredMessage): Pick<OutgoingMessage, "framed" | "proof_id">;
  /** Tools that run only once the human allows it. */
  readonly approvals: {
    isGated(tool: string): boolean;
    /** Undefined when nobody decided: the agent's own dialog stays. */
    requestDecision(
      request: { peer_id: string; session_id: string; tool: string; input: unknown },
      signal: AbortSignal,
    ): Promise<Decision | undefined>;
    cancelPending(session_id: string): void;
  };
}

/** What the hook is answered, made once all is on the disk; `signal` is the caller's patience. */
export type AnswerHook = (
  signal: AbortSignal,
) => Record<string, unknown> | Promise<Record<string, unknown>>;

export class Agents {
  readonly #ctx: Context;
  readonly #deps: AgentsDeps;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  /** What a session's last hook carried: its next event proves that it was read. */
  readonly #contextMessages = new Map<string, readonly string[]>();
  #observing = false;
  #observed_at = 0;

  constructor(ctx: Context, deps: AgentsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#adapters = new Map(deps.adapters.map((adapter) => [adapter.backend, adapter]));
  }

  /** The ladder; what failed when it was tested is its end, and not left out. */
  transports(peer: AgentPeer, outgoing: OutgoingMessage): readonly AgentTransport[] {
    const transports = this.#adapters.get(peer.backend ?? "")?.transports(peer, outgoing) ?? [];
    const failed = ({ name }: AgentTransport) => this.degraded(peer.backend, name) !== undefined;
    return [...transports.filter((transport) => !failed(transport)), ...transports.filter(failed)];
  }

  /** What failed when this transport was tested last with such an agent. */
  degraded(backend: Backend | null, transport: string): string | undefined {
    return this.#deps.knownFailures.degraded(backend, transport);
  }

  /** What each transport to an agent says now, the best one first; nothing is delivered. */
  async probe(peer: AgentPeer): Promise<Probe[]> {
    const probes: Probe[] = [];
    for (const transport of this.transports(peer, PROBE_MESSAGE)) {
      const readiness = await transport.check(peer, PROBE_MESSAGE);
      probes.push({
        transport: transport.name,
        ready: readiness.ready,
        reason: readiness.ready ? null : readiness.reason,
        degraded: this.degraded(peer.backend, transport.name) ?? null,
      });
    }
    return probes;
  }

  /** Whether anything is known of how to reach such an agent. */
  hasAdapter(backend: Backend): boolean {
    return this.#adapters.has(backend);
  }

  /** The best way that an adapter knows to this agent, whatever its state is now. */
  transport(peer: AgentPeer): Transport {
    return this.#adapters.get(peer.backend ?? "")?.transport(peer) ?? "none";
  }

  /** The session that a call proves to be of, in the word of the first adapter that knows it. */
  sessionOfCall(evidence: CallEvidence): string | undefined {
    for (const adapter of this.#adapters.values()) {
      const session = adapter.sessionOfCall?.(evidence);
      if (session !== undefined) return session;
    }
    return undefined;
  }

  /** Whether an adapter says who calls: then an agent's process alone proves nothing. */
  identifiesCalls(backend: string): boolean {
    return this.#adapters.get(backend)?.sessionOfCall !== undefined;
  }

  /** Every few seconds: looks at what can be seen of the agents without their help. */
  tick(now: number): void {
    if (this.#observing || now - this.#observed_at < OBSERVE_INTERVAL_MS) return;
    this.#observing = true;
    this.#observed_at = now;
    this.#deps.knownFailures.refresh();
    this.#observeAll().catch((error) =>
      this.#ctx.log.error("A look at the agents failed", { error })
    )
      .finally(() => this.#observing = false);
  }

  /** All at once, so that they share what is to be asked of tmux, and the transaction. */
  async #observeAll(): Promise<void> {
    const { peers } = this.#deps;
    const observe = async (peer: AgentPeer) => {
      return { peer, seen: await this.#adapters.get(peer.backend ?? "")?.observe(peer) };
    };
    for (const { peer, seen } of await Promise.all(peers.reachableAgents().map(observe))) {
      if (seen) peers.applyObservation(peer, seen);
    }
    await this.#release();
    for (const { peer, seen } of await Promise.all(peers.unobservedAgents().map(observe))) {
      if (seen?.alive) this.#restore(peer, seen);
    }
  }

  /** It was lost from sight, and is there. */
  #restore(peer: AgentPeer, seen: Observation): void {
    const { peers } = this.#deps;
    if (!peers.unobservedAgents().some(({ peer_id }) => peer_id === peer.peer_id)) return;
    peers.markSeen(peer.peer_id, "native");
    peers.applyObservation(peer, seen);
  }

  /** One hook event of an agent: believed, written down, and answered in the agent's own form. */
  async hook(agent: string, payload: unknown, facts: HookFacts): Promise<AnswerHook> {
    const { db } = this.#ctx;
    const backend = Backend.safeParse(agent).data;
    const reader = backend && this.#deps.hooks[backend];
    if (!reader) throw new Problem("unknown_agent", { agent });
    const parsed = reader.read(payload);
    const last_message = await reader.lastMessage?.(parsed, payload);
    const report = last_message === undefined ? parsed : { ...parsed, last_message };
    return db.transact(() => {
      if (this.#isUnregistered(report)) return () => reader.answer(payload, null);
      const found = this.#peerOf(backend, report, reader.locate?.(facts) ?? facts);
      const peer_id = report.prompt === undefined
        ? found
        : this.#deps.peers.peerOfPrompt(found, report.prompt);
      if (isPastDialog(report)) this.#deps.approvals.cancelPending(report.session_id);
      if (report.end_reason !== undefined) {
        const { pane_id, agent_pid } = facts;
        this.#deps.peers.offline(peer_id, {
          reason: "session_end",
          source: "hook",
          detail: report.end_reason,
          terminal: false,
          pane_id,
          agent_pid,
        });
        db.afterCommit(() => this.#contextMessages.delete(report.session_id));
        return () => ({});
      }
      this.#markContextSeen(report.session_id);
      const { turn_state, model, prompt, last_message } = report;
      this.#deps.peers.turn(peer_id, { turn_state, model, prompt, last_message });
      const context = reader.acceptsContext(report.event)
        ? this.#context(peer_id, report.session_id)
        : null;
      return this.#permission(reader, peer_id, report) ?? (() => reader.answer(payload, context));
    });
  }

  /** Keeps a hook waiting for as long as nothing else could reach its session. */
  async wait(
    agent: string,
    { session_id, written }: { session_id: string; written?: string | undefined },
    signal: AbortSignal,
  ): Promise<WakeInstruction> {
    const waiters = this.#adapters.get(agent)?.waiters;
    if (!waiters) throw new Problem("unknown_agent", { agent });
    if (written !== undefined) {
      waiters.written(written);
      return { then: "end" };
    }
    const { clock } = this.#ctx;
    const expiry = new AbortController();
    const waitSignal = AbortSignal.any([signal, this.#deps.shutdownSignal, expiry.signal]);
    if (!this.#findBySession(session_id)) await pause(clock, REGISTRATION_WAIT_MS_MAX, waitSignal);
    const peer = this.#findBySession(session_id);
    if (!peer || await this.#isReachable(peer)) return { then: "end" };
    void pause(clock, WAIT_MS_MAX, waitSignal).then(() => expiry.abort());
    const instruction = waiters.add(session_id, waitSignal);
    this.#deps.wake(peer.peer_id);
    try {
      return await instruction;
    } finally {
      expiry.abort();
    }
  }

  #findBySession(session_id: string): AgentPeer | undefined {
    return this.#deps.peers.reachableAgents().find((peer) =>
      peer.runtime_session_id === session_id
    );
  }

  /** Whether a way leads to it that needs no hook: its pane, or its own socket. */
  async #isReachable(peer: AgentPeer): Promise<boolean> {
    if (peer.pane_id !== null) return true;
    return (await this.probe(peer)).some(({ transport, ready }) => transport !== "hook" && ready);
  }

  /** Lets hooks go whose sessions are reached in a better way by now, or by none. */
  async #release(): Promise<void> {
    for (const { waiters } of this.#adapters.values()) {
      for (const session_id of waiters?.sessions ?? []) {
        const peer = this.#findBySession(session_id);
        if (!peer || await this.#isReachable(peer)) waiters?.release(session_id);
      }
    }
  }

  /** The answer to a tool that is gated; undefined for all that is not the human's to decide. */
  #permission(
    reader: HookReader,
    peer_id: string,
    { permission, session_id }: HookReport,
  ): AnswerHook | undefined {
    const { approvals } = this.#deps;
    if (!permission || !approvals.isGated(permission.tool)) return undefined;
    return async (signal) => {
      const decision = await approvals.requestDecision(
        { peer_id, session_id, ...permission },
        signal,
      );
      return decision && reader.formatDecision ? reader.formatDecision(decision) : {};
    };
  }

  /** An end, or a subagent's work, in a session that its process has left, or never told of. */
  #isUnregistered({ session_id, end_reason, is_subagent }: HookReport): boolean {
    if (end_reason === undefined && !is_subagent) return false;
    return this.#deps.peers.findBySession(session_id) === undefined;
  }

  /** The peer of a session: known, or registered by what its hook says. */
  #peerOf(backend: Backend, report: HookReport, facts: HookFacts): string {
    const known = this.#deps.peers.findBySession(report.session_id);
    if (known && report.source === undefined) return known.peer_id;
    const { pane_id, tmux_socket, tmux_session, agent_pid, circle } = facts;
    const registration: Registration = {
      path: report.cwd ?? "/",
      backend,
      role: "agent",
      runtime_session_id: report.session_id,
      ...(report.model && { model: report.model }),
      ...(pane_id && { pane_id }),
      ...(tmux_socket && { tmux_socket }),
      ...(tmux_session && { tmux_session }),
      ...(agent_pid && { agent_pid }),
      ...(circle && !known && { circle }), // One that moved keeps the circle it was born in.
      provenance: { source: "hook", initiator: "user" },
    };
    // The route has dropped a process that is not proved to be the hook's.
    const entrance = { by_hook: true, isProcess: (pid: number) => pid === agent_pid };
    return this.#deps.peers.register(registration, entrance).peer_id;
  }

  /** What this prompt carries: messages that wait, whole; and the names of those never proved. */
  #context(peer_id: string, session_id: string): string | null {
    const { db } = this.#ctx;
    const limits = { messages: CONTEXT_MESSAGES_MAX, bytes: CONTEXT_BYTES_MAX };
    const contextMessages = this.#deps.delivery.handToHook(peer_id, limits);
    const unproved = this.#deps.delivery.nameUnproved(peer_id, CONTEXT_MESSAGES_MAX);
    const lines = contextMessages.map((message) => {
      const { framed, proof_id } = this.#deps.outgoing(message);
      return truncateFramed(framed, proof_id, { bytes_max: CONTEXT_BYTES_MAX, newlines: "kept" });
    });
    for (const { delivery_id, correlation_id, from_peer_name } of unproved) {
      const id = correlation_id ?? delivery_id;
      // In our own voice, so that a name which could be read as more is left out.
      const from = Name.safeParse(from_peer_name).success ? ` from @${from_peer_name}` : "";
      lines.push(`[mesh] A message${from} may not have reached you: mesh show ${id}`);
    }
    if (contextMessages.length > 0) {
      const ids = contextMessages.map(({ delivery_id }) => delivery_id);
      db.afterCommit(() => this.#contextMessages.set(session_id, ids));
    }
    return lines.length > 0 ? lines.join("\n") : null;
  }

  #markContextSeen(session_id: string): void {
    const contextMessages = this.#contextMessages.get(session_id);
    if (!contextMessages) return;
    this.#deps.delivery.settle(contextMessages, "seen");
    this.#ctx.db.afterCommit(() => this.#contextMessages.delete(session_id));
  }
}

/** Whether a session that had a dialog open is past it. A dialog tells of itself more than once. */
function isPastDialog({ turn_state, end_reason }: HookReport): boolean {
  return end_reason !== undefined || (turn_state !== undefined && turn_state !== "awaiting_input");
}
