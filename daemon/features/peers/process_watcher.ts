/** Takes a peer offline when its process has ended, or when it was not seen for too long. */

import type { Context } from "../../data/context.ts";
import { TableView } from "../../data/table_view.ts";
import type { RegistryDeps } from "./changes.ts";
import { hasEnded, isRunning, recordedProcess } from "./identity/known_peer.ts";
import { DAEMON_RESTART, type Peers } from "./peers.ts";
import * as rows from "./store.ts";
import type { MonitoredPeer } from "./store.ts";

/** Time for which an unreachable peer stays online after it was last seen (contract 2). */
const UNSEEN_MS_MAX = 10 * 60_000;

export class ProcessWatcher {
  readonly #ctx: Context;
  readonly #deps: RegistryDeps & { readonly peers: Peers };
  readonly #monitored: TableView<MonitoredPeer[]>;

  constructor(ctx: Context, deps: RegistryDeps & { readonly peers: Peers }) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#monitored = new TableView(ctx.db, "peers", rows.monitoredPeers);
  }

  /** Run once at the start: takes all peers offline, and brings back those whose process runs. */
  start(): void {
    const { db } = this.#ctx;
    const cause = { reason: DAEMON_RESTART, source: "daemon", terminal: false };
    db.transact(() => {
      for (const peer of rows.livePeers(db)) {
        if (peer.role === "human") continue;
        this.#deps.peers.offline(peer.peer_id, cause);
        if (isRunning(this.#deps, peer)) this.#deps.peers.markSeen(peer.peer_id, "process");
      }
    });
  }

  /** Run once a second: stores when peers were seen, and takes missing ones offline. */
  tick(): void {
    const { db } = this.#ctx;
    const touched = this.#deps.directory.flushTouched();
    if (touched.size > 0) {
      db.transact((tx) => touched.forEach((at, peer_id) => rows.setLastSeen(tx, peer_id, at)));
    }
    for (const peer of this.#monitored.get()) this.#check(peer);
  }

  #check(peer: MonitoredPeer): void {
    const setOffline = (reason: string, source: string) =>
      this.#deps.peers.offline(peer.peer_id, { reason, source, terminal: false });
    if (peer.machine === this.#deps.machine && recordedProcess(peer) !== null) {
      if (hasEnded(this.#deps, peer)) setOffline("agent_exited", "process");
      return;
    }
    if (this.#deps.reachability.isReachable(peer.peer_id)) return;
    if (this.#deps.directory.unseenMs(peer) > UNSEEN_MS_MAX) setOffline("not_seen", "heart");
  }
}
