/** Looks up what `identity.ts` decides about: the peers of sessions, of processes and of panes. */

import type { Reader } from "kit/data/sqlite.ts";
import type { ProcessId } from "../../../host/processes.ts";
import * as rows from "../store.ts";
import type { StoredPeer } from "../store.ts";
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
  peerOfSession(named: NamedSession, evidence: SessionEvidence): StoredPeer | undefined {
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
  hasEnded(peer: StoredPeer): boolean {
    return hasEnded(this.#here, peer);
  }

  /**
   * The peer of the first of these processes that is any peer's. `several` if that process is not of
   * one peer alone, `none` if no process is a peer's.
   */
  peerOfProcesses(
    processes: readonly ProcessId[],
  ): { state: "one"; peer: StoredPeer } | { state: "several" | "none"; peer?: undefined } {
    for (const { pid, started } of processes) {
      const peers = rows.twoByProcess(this.#db, pid, started);
      if (peers.length === 0) continue;
      const peer = recordOf(peers, peerOfProcess(this.#known(peers)));
      return peer ? { state: "one", peer } : { state: "several" };
    }
    return { state: "none" };
  }

  /** The peer that a pane alone identifies. */
  peerOfPane({ pane_id, tmux_socket }: NamedPane): StoredPeer | undefined {
    const peers = rows.byPane(this.#db, pane_id, tmux_socket);
    return recordOf(peers, peerOfPane(this.#known(peers)));
  }

  #holdersOf({ session, backend }: NamedSession): StoredPeer[] {
    return rows.bySession(this.#db, session)
      .filter((peer) => backend === undefined || peer.backend === backend);
  }

  #known(peers: readonly StoredPeer[]): KnownPeer[] {
    return peers.map((peer) => knownPeerOf(this.#here, peer));
  }
}

function recordOf(
  records: readonly StoredPeer[],
  known: KnownPeer | undefined,
): StoredPeer | undefined {
  return known && records.find(({ peer_id }) => peer_id === known.peer_id);
}
