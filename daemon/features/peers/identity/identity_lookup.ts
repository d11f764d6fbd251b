/** Looks up the peers of sessions, processes and panes, about which `identity.ts` decides. */

import type { Database } from "kit/data/sqlite.ts";
import {
  lineageOf,
  type ProcessId,
  processIdOf,
  type ProcessTable,
} from "../../../host/processes.ts";
import type { HookFacts } from "../../agents/adapter.ts";
import type { AgentProcesses } from "./agent_processes.ts";
import { TableAnswers } from "../../../data/table_view.ts";
import * as rows from "../store.ts";
import type { ActingPeer, IdentityFacts } from "../store.ts";
import {
  type KnownPeer,
  mayJoinSession,
  mayRegisterSession,
  peerOfPane,
  peerOfProcess,
  peerOfSession,
  type SessionEvidence,
} from "./identity.ts";
import { hasEnded, knownPeerOf, type Processes } from "./known_peer.ts";
import { readingOfPeer } from "protocol/peers/lookalikes.ts";

/** A session that a hook or a call names. */
export interface NamedSession {
  readonly session: string;
  /** The kind of agent whose session it is; undefined for any. */
  readonly backend?: string | undefined;
}

/** The processes of a hook that are proved, and whether a server of several sessions sends it. */
export type ProvenHook = Pick<HookFacts, "agent_pid" | "hook_pid" | "by_server" | "is_late">;

/** A pane that an environment names. */
export interface NamedPane {
  readonly pane_id: string;
  readonly tmux_socket: string | null;
}

interface LookupDeps extends Processes {
  readonly agentProcesses: Pick<AgentProcesses, "mayBeAgent">;
  readonly processes: Pick<ProcessTable, "isAlive" | "parentOf" | "startTimeOf">;
}

/** The owner of a process: `own`, or the process of a peer. */
interface ProcessOwner {
  readonly is_own: boolean;
  /** Undefined if several peers share the process. */
  readonly peer: IdentityFacts | undefined;
}

export class IdentityLookup {
  readonly #db: Database;
  readonly #here: LookupDeps;
  /** The peer of this exact id, in any status. */
  readonly get: (peer_id: string) => ActingPeer | undefined;
  /** Up to two peers whose proved process has this pid; retired ones last. */
  readonly #ofPid: (pid: string) => readonly IdentityFacts[];
  /** True if a reader may take a name for that of a peer with a process or a session. */
  readonly looksLikeIdentified: (name: string) => boolean;

  constructor(db: Database, here: LookupDeps) {
    this.#db = db;
    this.#here = here;
    // Every request of a program asks for these, and registrations are rare.
    const answers = new TableAnswers(db.watch("peers", rows.identityValues));
    this.get = answers.to((peer_id) => rows.actingPeer(db, peer_id));
    this.#ofPid = answers.to((pid) => rows.twoByPid(db, Number(pid)));
    const readings = answers.to(() => new Set(rows.identifiedNames(db).map(readingOfPeer)));
    this.looksLikeIdentified = answers.to((name) => readings().has(readingOfPeer(name)));
  }

  /** The peer of a session that a call names. */
  peerOfSession(named: NamedSession, evidence: SessionEvidence): IdentityFacts | undefined {
    const holders = this.#holdersOf(named);
    return recordOf(holders, peerOfSession(this.#knownPeers(holders), evidence));
  }

  /** The peer of the session that a hook names. */
  peerOfHook(
    named: NamedSession,
    { agent_pid, hook_pid, by_server }: ProvenHook,
  ): IdentityFacts | undefined {
    const { processes } = this.#here;
    const agent = processIdOf(processes, agent_pid);
    const lineage = lineageOf(processes, hook_pid);
    return this.peerOfSession(named, { agent, lineage, by_server });
  }

  /** The facts of a hook without its agent's process, if that has ended since it was proved. */
  current<F extends ProvenHook>(hook: F): F {
    const { processes } = this.#here;
    const agent = processIdOf(processes, hook.agent_pid);
    const isRunning = agent !== undefined && processes.isAlive(agent.pid, agent.started);
    if (hook.agent_pid === undefined || isRunning) return hook;
    return { ...hook, agent_pid: undefined, is_late: true };
  }

  /** True if a hook may register its session, which joins it to no peer. */
  mayRegister(named: NamedSession, { agent_pid, is_late = false }: ProvenHook): boolean {
    const agent = processIdOf(this.#here.processes, agent_pid);
    return mayRegisterSession(this.#knownPeers(this.#holdersOf(named)), { agent, is_late });
  }

  /** True if a hook, whose agent's process is proved, continues the session of a peer. */
  isContinued(named: NamedSession, { agent_pid }: ProvenHook): boolean {
    const process = processIdOf(this.#here.processes, agent_pid);
    const hook = { process, names_process: true, by_hook: true, is_from_peer: false };
    return process !== undefined &&
      this.#knownPeers(this.#holdersOf(named)).some((peer) => mayJoinSession(peer, hook));
  }

  /** True if the process on a peer's record has ended. */
  hasEnded(peer: IdentityFacts): boolean {
    return hasEnded(this.#here, peer);
  }

  /**
   * The owner of the first of these processes that is `own` or a registered peer's. The pids are a
   * process and its ancestors, nearest first. Undefined if a retired peer's process comes first: it
   * represents no peer.
   */
  peerOfProcesses(
    pids: Iterable<number>,
    own: ProcessId | null = null,
  ): ProcessOwner | undefined {
    const { agentProcesses, processes } = this.#here;
    for (const pid of pids) {
      const isOwn = pid === own?.pid && processes.startTimeOf(pid) === own.started;
      if (isOwn) return { is_own: true, peer: undefined };
      const recorded = this.#ofPid(String(pid));
      if (recorded.length === 0) continue;
      // Pids are reused, so the start time is compared if the peer has one.
      const started = processes.startTimeOf(pid);
      const peers = recorded.filter(({ agent_started }) => agent_started === started);
      if (peers.length === 0 || !agentProcesses.mayBeAgent(pid)) continue;
      const registered = peers.filter(({ status }) => status !== "retired");
      if (registered.length === 0) return undefined;
      return {
        is_own: false,
        peer: recordOf(registered, peerOfProcess(this.#knownPeers(registered))),
      };
    }
    return undefined;
  }

  /** The peer that a pane alone identifies. */
  peerOfPane({ pane_id, tmux_socket }: NamedPane): IdentityFacts | undefined {
    const peers = rows.identitiesOnPane(this.#db, pane_id, tmux_socket);
    return recordOf(peers, peerOfPane(this.#knownPeers(peers)));
  }

  #holdersOf({ session, backend }: NamedSession): IdentityFacts[] {
    const named = { runtime_session_id: session, backend: backend ?? null };
    return rows.identitiesOfSession(this.#db, named);
  }

  #knownPeers(peers: readonly IdentityFacts[]): KnownPeer[] {
    return peers.map((peer) => knownPeerOf(this.#here, peer));
  }
}

function recordOf(
  records: readonly IdentityFacts[],
  known: KnownPeer | undefined,
): IdentityFacts | undefined {
  return known && records.find(({ peer_id }) => peer_id === known.peer_id);
}
