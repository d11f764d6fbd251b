/** The agents desk: which rungs lead to an agent, and what its hooks tell. */

import { Name } from "kit/core/schema.ts";
import { pause } from "kit/core/timeout.ts";
import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Held } from "../messages/contract.ts";
import { type Offline, type Registration, type Turn } from "../peers/contract.ts";
import { Backend, type Transport } from "../agents/contract.ts";
import type {
  Adapter,
  Addressee,
  CallSigns,
  Decision,
  HookFacts,
  HookReader,
  HookReport,
  Hooks,
  Parcel,
  Probe,
  Rung,
  Sighting,
  Waking,
} from "../agents/adapter.ts";
import { shortened } from "../agents/pane.ts";
import type { Marks } from "../agents/selftest/marks.ts";

/** What is held before a rung to hear whether it would take a message; it is never delivered. */
const NOTHING: Parcel = {
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
const LOOK_EVERY_MS = 2_000;
/** A hook that waits is answered by then; it asks again, unless its session is gone. */
const WAIT_MS_MAX = 5 * 60_000;
/** A session's first hooks come all at once: the one that registers it may be second. */
const REGISTERED_MS_MAX = 2_000;

/** How a hook's registration came in. */
export interface Entrance {
  readonly by_hook: boolean;
  isProcess(pid: number): boolean;
}

export interface AgentsNeeds {
  readonly adapters: readonly Adapter[];
  readonly hooks: Hooks;
  readonly marks: Marks;
  readonly peers: {
    register(registration: Registration, entrance: Entrance): { peer_id: string };
    turn(peer_id: string, turn: Turn): void;
    offline(peer_id: string, cause: Offline): void;
    /** The peer into whose pane this prompt was typed, where its session told no pane. */
    typedInto(peer_id: string, prompt: string): string;
    ofSession(runtime_session_id: string): { peer_id: string } | undefined;
    /** Everyone that a rung could reach. */
    addressees(): Addressee[];
    /** Those without a process who are offline because nobody has seen them. */
    unseen(): Addressee[];
    sighted(peer_id: string, transport: string): void;
    /** What was seen from outside. */
    observed(peer: Addressee, seen: Sighting): void;
  };
  readonly delivery: {
    handOver(peer_id: string, limits: { messages: number; bytes: number }): Held[];
    nameUnproved(peer_id: string, limit: number): Held[];
    settle(delivery_ids: readonly string[], status: "seen"): void;
  };
  /** Something has changed about the ways to a peer. */
  wake(peer_id: string): void;
  /** Aborted when the daemon goes down. */
  readonly ending: AbortSignal;
  parcel(message: Held): Pick<Parcel, "framed" | "proof_id">;
  /** Tools that run only once the human allows it. */
  readonly approvals: {
    gates(tool: string): boolean;
    /** Undefined when nobody decided: the agent's own dialog stays. */
    decide(
      request: { peer_id: string; session_id: string; tool: string; input: unknown },
      signal: AbortSignal,
    ): Promise<Decision | undefined>;
    wentOn(session_id: string): void;
  };
}

/** What the hook is answered, made once all is on the disk; `signal` is the caller's patience. */
export type HookAnswer = (
  signal: AbortSignal,
) => Record<string, unknown> | Promise<Record<string, unknown>>;

export class Agents {
  readonly #ground: Ground;
  readonly #needs: AgentsNeeds;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  /** What a session's last hook carried: its next event proves that it was read. */
  readonly #handed = new Map<string, readonly string[]>();
  #looking = false;
  #looked_at = 0;

  constructor(ground: Ground, needs: AgentsNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    this.#adapters = new Map(needs.adapters.map((adapter) => [adapter.backend, adapter]));
  }

  /** The ladder; what failed when it was tested is its end, and not left out. */
  rungs(peer: Addressee, parcel: Parcel): readonly Rung[] {
    const ladder = this.#adapters.get(peer.backend ?? "")?.rungs(peer, parcel) ?? [];
    const failed = ({ name }: Rung) => this.degraded(peer.backend, name) !== undefined;
    return [...ladder.filter((rung) => !failed(rung)), ...ladder.filter(failed)];
  }

  /** What failed when this rung was tested last with such an agent. */
  degraded(backend: Backend | null, rung: string): string | undefined {
    return this.#needs.marks.degraded(backend, rung);
  }

  /** What each rung to an agent says now, the best one first; nothing is delivered. */
  async probe(peer: Addressee): Promise<Probe[]> {
    const probes: Probe[] = [];
    for (const rung of this.rungs(peer, NOTHING)) {
      const said = await rung.check(peer, NOTHING);
      probes.push({
        rung: rung.name,
        ready: said.ready,
        reason: said.ready ? null : said.reason,
        degraded: this.degraded(peer.backend, rung.name) ?? null,
      });
    }
    return probes;
  }

  /** Whether anything is known of how to reach such an agent. */
  knows(backend: Backend): boolean {
    return this.#adapters.has(backend);
  }

  /** The best way that an adapter knows to this agent, whatever its state is now. */
  transport(peer: Addressee): Transport {
    return this.#adapters.get(peer.backend ?? "")?.transport(peer) ?? "none";
  }

  /** The session that a call proves to be of, in the word of the first adapter that knows it. */
  callingSession(signs: CallSigns): string | undefined {
    for (const adapter of this.#adapters.values()) {
      const session = adapter.callingSession?.(signs);
      if (session !== undefined) return session;
    }
    return undefined;
  }

  /** Whether an adapter says who calls: then an agent's process alone proves nothing. */
  speaksFor(backend: string): boolean {
    return this.#adapters.get(backend)?.callingSession !== undefined;
  }

  /** Every few seconds: looks at what can be seen of the agents without their help. */
  beat(now: number): void {
    if (this.#looking || now - this.#looked_at < LOOK_EVERY_MS) return;
    this.#looking = true;
    this.#looked_at = now;
    this.#needs.marks.look();
    this.#look().catch((fault) => this.#ground.log.error("A look at the agents failed", { fault }))
      .finally(() => this.#looking = false);
  }

  /** All at once, so that they share what is to be asked of tmux, and the transaction. */
  async #look(): Promise<void> {
    const { peers } = this.#needs;
    const sight = async (peer: Addressee) => {
      return { peer, seen: await this.#adapters.get(peer.backend ?? "")?.sight(peer) };
    };
    for (const { peer, seen } of await Promise.all(peers.addressees().map(sight))) {
      if (seen) peers.observed(peer, seen);
    }
    await this.#release();
    for (const { peer, seen } of await Promise.all(peers.unseen().map(sight))) {
      if (seen?.alive) this.#found(peer, seen);
    }
  }

  /** It was lost from sight, and is there. */
  #found(peer: Addressee, seen: Sighting): void {
    const { peers } = this.#needs;
    if (!peers.unseen().some(({ peer_id }) => peer_id === peer.peer_id)) return;
    peers.sighted(peer.peer_id, "native");
    peers.observed(peer, seen);
  }

  /** One hook event of an agent: believed, written down, and answered in the agent's own form. */
  async hook(agent: string, payload: unknown, facts: HookFacts): Promise<HookAnswer> {
    const { db } = this.#ground;
    const backend = Backend.safeParse(agent).data;
    const reader = backend && this.#needs.hooks[backend];
    if (!reader) throw new Problem("unknown_agent", { agent });
    const told = reader.read(payload);
    const last_message = await reader.lastMessage?.(told, payload);
    const report = last_message === undefined ? told : { ...told, last_message };
    return db.transact(() => {
      if (this.#isNobodys(report)) return () => reader.answer(payload, null);
      const found = this.#peerOf(backend, report, reader.locate?.(facts) ?? facts);
      const peer_id = report.prompt === undefined
        ? found
        : this.#needs.peers.typedInto(found, report.prompt);
      if (wentOn(report)) this.#needs.approvals.wentOn(report.session_id);
      if (report.end_reason !== undefined) {
        const { pane_id, agent_pid } = facts;
        this.#needs.peers.offline(peer_id, {
          reason: "session_end",
          source: "hook",
          detail: report.end_reason,
          terminal: false,
          pane_id,
          agent_pid,
        });
        db.afterCommit(() => this.#handed.delete(report.session_id));
        return () => ({});
      }
      this.#settleHanded(report.session_id);
      const { turn_state, model, prompt, last_message } = report;
      this.#needs.peers.turn(peer_id, { turn_state, model, prompt, last_message });
      const context = reader.takesContext(report.event)
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
  ): Promise<Waking> {
    const waiters = this.#adapters.get(agent)?.waiters;
    if (!waiters) throw new Problem("unknown_agent", { agent });
    if (written !== undefined) {
      waiters.written(written);
      return { then: "end" };
    }
    const { clock } = this.#ground;
    const over = new AbortController();
    const patience = AbortSignal.any([signal, this.#needs.ending, over.signal]);
    if (!this.#ofSession(session_id)) await pause(clock, REGISTERED_MS_MAX, patience);
    const peer = this.#ofSession(session_id);
    if (!peer || await this.#reached(peer)) return { then: "end" };
    void pause(clock, WAIT_MS_MAX, patience).then(() => over.abort());
    const waking = waiters.hold(session_id, patience);
    this.#needs.wake(peer.peer_id);
    try {
      return await waking;
    } finally {
      over.abort();
    }
  }

  #ofSession(session_id: string): Addressee | undefined {
    return this.#needs.peers.addressees().find((peer) => peer.runtime_session_id === session_id);
  }

  /** Whether a way leads to it that needs no hook: its pane, or its own socket. */
  async #reached(peer: Addressee): Promise<boolean> {
    if (peer.pane_id !== null) return true;
    return (await this.probe(peer)).some(({ rung, ready }) => rung !== "hook" && ready);
  }

  /** Lets hooks go whose sessions are reached in a better way by now, or by none. */
  async #release(): Promise<void> {
    for (const { waiters } of this.#adapters.values()) {
      for (const session_id of waiters?.sessions ?? []) {
        const peer = this.#ofSession(session_id);
        if (!peer || await this.#reached(peer)) waiters?.release(session_id);
      }
    }
  }

  /** The answer to a tool that is gated; undefined for all that is not the human's to decide. */
  #permission(
    reader: HookReader,
    peer_id: string,
    { permission, session_id }: HookReport,
  ): HookAnswer | undefined {
    const { approvals } = this.#needs;
    if (!permission || !approvals.gates(permission.tool)) return undefined;
    return async (signal) => {
      const decision = await approvals.decide({ peer_id, session_id, ...permission }, signal);
      return decision && reader.decided ? reader.decided(decision) : {};
    };
  }

  /** An end, or a subagent's work, in a session that its process has left, or never told of. */
  #isNobodys({ session_id, end_reason, is_subagent }: HookReport): boolean {
    if (end_reason === undefined && !is_subagent) return false;
    return this.#needs.peers.ofSession(session_id) === undefined;
  }

  /** The peer of a session: known, or registered by what its hook says. */
  #peerOf(backend: Backend, report: HookReport, facts: HookFacts): string {
    const known = this.#needs.peers.ofSession(report.session_id);
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
    return this.#needs.peers.register(registration, entrance).peer_id;
  }

  /** What this prompt carries: messages that wait, whole; and the names of those never proved. */
  #context(peer_id: string, session_id: string): string | null {
    const { db } = this.#ground;
    const limits = { messages: CONTEXT_MESSAGES_MAX, bytes: CONTEXT_BYTES_MAX };
    const handed = this.#needs.delivery.handOver(peer_id, limits);
    const unproved = this.#needs.delivery.nameUnproved(peer_id, CONTEXT_MESSAGES_MAX);
    const lines = handed.map((message) => {
      const { framed, proof_id } = this.#needs.parcel(message);
      return shortened(framed, proof_id, { bytes_max: CONTEXT_BYTES_MAX, newlines: "kept" });
    });
    for (const { delivery_id, correlation_id, from_peer_name } of unproved) {
      const id = correlation_id ?? delivery_id;
      // In our own voice, so that a name which could be read as more is left out.
      const from = Name.safeParse(from_peer_name).success ? ` from @${from_peer_name}` : "";
      lines.push(`[mesh] A message${from} may not have reached you: mesh show ${id}`);
    }
    if (handed.length > 0) {
      const ids = handed.map(({ delivery_id }) => delivery_id);
      db.afterCommit(() => this.#handed.set(session_id, ids));
    }
    return lines.length > 0 ? lines.join("\n") : null;
  }

  #settleHanded(session_id: string): void {
    const handed = this.#handed.get(session_id);
    if (!handed) return;
    this.#needs.delivery.settle(handed, "seen");
    this.#ground.db.afterCommit(() => this.#handed.delete(session_id));
  }
}

/** Whether a session that had a dialog open is past it. A dialog tells of itself more than once. */
function wentOn({ turn_state, end_reason }: HookReport): boolean {
  return end_reason !== undefined || (turn_state !== undefined && turn_state !== "awaiting_input");
}
