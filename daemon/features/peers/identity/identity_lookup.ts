/** Looks up what `identity.ts` decides about: the peers of sessions, of processes and of panes. */

import type { Reader } from "kit/data/sqlite.ts";
import type { ProcessId } from "../../../host/processes.ts";
import * as rows from "../store.ts";
import type { IdentityFacts } from "../store.ts";
import {
  type KnownPeer,
  mayJoinSession,
  peerOfPane,
  peerOfProcess,
  peerOfSession,
  type SessionEvidence,
} from "./identity.ts";
import { hasEnded, knownPeerOf, type Processes } from "./known_peer.ts";

/** A session that a hook or a call names. */
export interface NamedSession {
  readonly session: string;
  /** The kind of agent whose session it is; undefined for any. */
  readonly backend?: string | undefined;
}

/** A pane that an environment names. */
export interface NamedPane {
  readonly pane_id: string;
  readonly tmux_socket: string | null;
}

export class IdentityLookup {
  readonly #db: Reader;
  readonly #here: Processes;

  constructor(db: Reader, here: Processes) {
    this.#db = db;
    this.#here = here;
  }

  /** The peer of a session that a hook or a call names. */
  peerOfSession(named: NamedSession, evidence: SessionEvidence): IdentityFacts | undefined {
    const holders = this.#holdersOf(named);
    return recordOf(holders, peerOfSession(this.#known(holders), evidence));
  }

  /** Whether a hook, whose agent's process is proved, goes on with the session of a peer. */
  isContinued(named: NamedSession, process: ProcessId | undefined): boolean {
    const hook = { process, names_process: true, by_hook: true, is_from_peer: false };
    return process !== undefined &&
      this.#known(this.#holdersOf(named)).some((peer) => mayJoinSession(peer, hook));
  }

  /** Whether the process on a peer's record has ended. */
  hasEnded(peer: IdentityFacts): boolean {
    return hasEnded(this.#here, peer);
  }

  /**
   * The peer of the first of these processes that is any peer's: `undefined` if that process is not
   * of one peer alone. The pids are a process and its ancestors, nearest first.
   */
  peerOfProcesses(pids: Iterable<number>): { peer: IdentityFacts | undefined } | undefined {
    for (const pid of pids) {
      const found = rows.twoByPid(this.#db, pid);
      // A pid may have been reused, so its start is compared where a peer has it.
      const started = found.length > 0 ? this.#here.processes.startTimeOf(pid) : undefined;
      const peers = found.filter(({ agent_started }) => agent_started === started);
      if (peers.length > 0) return { peer: recordOf(peers, peerOfProcess(this.#known(peers))) };
    }
    return undefined;
  }

  /** The peer that a pane alone identifies. */
  peerOfPane({ pane_id, tmux_socket }: NamedPane): IdentityFacts | undefined {
    const peers = rows.identitiesOnPane(this.#db, pane_id, tmux_socket);
    return recordOf(peers, peerOfPane(this.#known(peers)));
  }

  #holdersOf({ session, backend }: NamedSession): IdentityFacts[] {
    const named = { runtime_session_id: session, backend: backend ?? null };
    return rows.identitiesOfSession(this.#db, named);
  }

  #known(peers: readonly IdentityFacts[]): KnownPeer[] {
    return peers.map((peer) => knownPeerOf(this.#here, peer));
  }
}

function recordOf(
  records: readonly IdentityFacts[],
  known: KnownPeer | undefined,
): IdentityFacts | undefined {
  return known && records.find(({ peer_id }) => peer_id === known.peer_id);
}
