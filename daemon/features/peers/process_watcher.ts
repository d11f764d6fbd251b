/** Takes peers offline whose process has ended, or that were not seen for too long. */

import type { Context } from "kit/data/context.ts";
import type { ProcessLookup } from "./registration.ts";
import type { Offline } from "./contract.ts";
import type { Directory } from "./directory.ts";
import type { Reachability } from "./records.ts";
import * as rows from "./store.ts";
import type { WatchedPeer } from "./store.ts";

/** How long an unreachable peer stays online after it was last seen (contract 2). */
const UNSEEN_MS_MAX = 10 * 60_000;

export interface ProcessWatcherDeps {
  readonly directory: Directory;
  readonly processes: ProcessLookup;
  readonly reachability: Pick<Reachability, "isReachable">;
  /** The name of this machine. */
  readonly machine: string;
}

/** The actions of the watcher. */
export interface PeerActions {
  offline(peer_id: string, cause: Offline): void;
  markSeen(peer_id: string, transport: string): void;
}

export class ProcessWatcher {
  readonly #ctx: Context;
  readonly #deps: ProcessWatcherDeps;
  readonly #actions: PeerActions;

  constructor(ctx: Context, deps: ProcessWatcherDeps, actions: PeerActions) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#actions = actions;
  }

  /** Run once at the start: takes live peers offline, unless their process runs. */
  start(): void {
    const { db } = this.#ctx;
    const cause = { reason: "daemon_restart", source: "daemon", terminal: false };
    db.transact(() => {
      for (const peer of rows.livePeers(db)) {
        if (peer.role === "human") continue;
        this.#actions.offline(peer.peer_id, cause);
        if (this.#isRunning(peer)) this.#actions.markSeen(peer.peer_id, "process");
      }
    });
  }

  /** Run once a second: stores when peers were seen, and takes missing ones offline. */
  tick(now: number): void {
    const { db } = this.#ctx;
    const touched = this.#deps.directory.flushTouched();
    if (touched.size > 0) {
      db.transact((tx) => touched.forEach((at, peer_id) => rows.setLastSeen(tx, peer_id, at)));
    }
    for (const peer of rows.watchedPeers(db)) this.#check(peer, now);
  }

  #check(peer: WatchedPeer, now: number): void {
    const setOffline = (reason: string, source: string) =>
      this.#actions.offline(peer.peer_id, { reason, source, terminal: false });
    if (this.#isLocal(peer) && peer.agent_pid !== null) {
      if (!this.#isRunning(peer)) setOffline("agent_exited", "process");
      return;
    }
    if (this.#deps.reachability.isReachable(peer.peer_id)) return;
    const last_seen = this.#deps.directory.lastSeen(peer) ?? peer.registered_at;
    if (now - last_seen > UNSEEN_MS_MAX) setOffline("not_seen", "heart");
  }

  #isRunning({ agent_pid, agent_started, machine }: WatchedPeer): boolean {
    if (agent_pid === null || agent_started === null || machine !== this.#deps.machine) {
      return false;
    }
    return this.#deps.processes.isAlive(agent_pid, agent_started);
  }

  /** Whether its process runs on this machine. */
  #isLocal({ machine, agent_started }: WatchedPeer): boolean {
    return machine === this.#deps.machine && agent_started !== null;
  }
}
