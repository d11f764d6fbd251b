/** Peers as the agents' transports see them: by pane, process and session. */

import type { Context } from "../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { TableView } from "../../data/table_view.ts";
import { Problem } from "protocol/problems.ts";
import type { AgentPeer } from "../agents/adapter.ts";
import { isLive, isOnMachine } from "./directory.ts";
import * as rows from "./store.ts";
import type { StoredAgentPeer, StoredPeer } from "./store.ts";

export class AgentPeers {
  readonly #ctx: Context;
  readonly #machine: string;
  readonly #reachable: TableView<readonly AgentPeer[]>;
  readonly #unobserved: TableView<readonly AgentPeer[]>;

  /** `machine` is the name of this machine. */
  constructor(ctx: Context, machine: string) {
    this.#ctx = ctx;
    this.#machine = machine;
    const view = (read: (db: Reader) => StoredAgentPeer[]) =>
      new TableView(ctx.db, "peers", (db) => read(db).map((peer) => this.#toLocalAgent(peer)));
    this.#reachable = view(rows.reachableAgents);
    this.#unobserved = view(rows.unobservedAgents);
  }

  /** Live peers that accept messages. */
  reachable(): readonly AgentPeer[] {
    return this.#reachable.get();
  }

  /** Offline peers without a recorded process, whose agent may still be running. */
  unobserved(): readonly AgentPeer[] {
    return this.#unobserved.get();
  }

  /** A peer by its id; undefined unless it is live and accepts messages. */
  find(peer_id: string): AgentPeer | undefined {
    const peer = rows.get(this.#ctx.db, peer_id);
    const isReachable = peer && isLive(peer) && !peer.closed && peer.addressable;
    return isReachable ? this.#toLocalAgent(peer) : undefined;
  }

  /** A record without its pane if the peer is on another machine. */
  getRecord(peer_id: string): StoredPeer | undefined {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer) return undefined;
    return isOnMachine(peer, this.#machine) ? peer : { ...peer, tmux_socket: null, pane_id: null };
  }

  mustGetRecord(peer_id: string): StoredPeer {
    const peer = this.getRecord(peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }

  /**
   * Removes the pane and the pid of a peer on another machine, because they have another meaning
   * here. A process whose start time was read runs here, even if this machine had another name
   * then.
   */
  #toLocalAgent(peer: StoredAgentPeer): AgentPeer {
    const isLocal = isOnMachine(peer, this.#machine) || peer.agent_started !== null;
    const location = { tmux_socket: null, pane_id: null, agent_pid: null };
    return isLocal ? peer : { ...peer, ...location };
  }
}
