/** Pruning: closes offline peers that no feature needs. */

import type { Context } from "../../data/context.ts";
import type { ProcessTable } from "../../host/processes.ts";
import { isRunning } from "../peers/identity/known_peer.ts";
import type { Peers } from "../peers/peers.ts";
import { isSubagent } from "../peers/subagents.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { KeptReason, PruneResult } from "protocol/lifecycle.ts";

/** Questions of pruning to every other feature. */
export interface PruningPorts {
  /** The reason why a feature still needs a peer; undefined if none needs it. */
  needOf(peer: StoredPeer): KeptReason | undefined;
}

interface PruningDeps {
  readonly machine: string;
  readonly peers: Peers;
  readonly processes: ProcessTable;
  readonly ports: PruningPorts;
}

export class Pruning {
  readonly #ctx: Context;
  readonly #deps: PruningDeps;

  constructor(ctx: Context, deps: PruningDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Closes unneeded peers; with `dry_run`, only reports them. */
  prune({ dry_run }: { dry_run: boolean }): PruneResult {
    const { db } = this.#ctx;
    return db.transact(() => {
      const closed: PruneResult["closed"] = [];
      const kept: PruneResult["kept"] = [];
      // Ended subagents are removed by their own clean-up.
      const offline = rows.all(db).filter((peer) => peer.status === "offline" && !isSubagent(peer));
      for (const peer of offline) {
        const { peer_id, name, circle } = peer;
        const reason = this.#needOf(peer);
        if (reason === undefined) closed.push({ peer_id, name, circle });
        else kept.push({ peer_id, name, circle, reason });
      }
      if (!dry_run) { for (const { peer_id } of closed) this.#deps.peers.close(peer_id); }
      return { dry_run, closed, kept };
    });
  }

  #needOf(peer: StoredPeer): KeptReason | undefined {
    if (peer.role === "human") return "human";
    // A surface or a bridge, which gets the inbox items that it has missed.
    if (peer.initiator === "system") return "surface";
    return isRunning(this.#deps, peer) ? "running" : this.#deps.ports.needOf(peer);
  }
}
