/** The ways to reach a peer now: its socket, or a transport of its agent's adapter. */

import type { Context } from "../../data/context.ts";
import type { Transport } from "protocol/agents/contract.ts";
import type { MissingPanes } from "../agents/missing_panes.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import type { Reachability } from "../peers/records.ts";
import type { StoredPeer } from "../peers/store.ts";
import { firstQueued } from "./ledger/ledger.ts";
import type { Sockets } from "./websocket/sockets.ts";

interface ReachabilityDeps {
  readonly agentPeers: AgentPeers;
  readonly missingPanes: MissingPanes;
  readonly sockets: Sockets;
  readonly transports: AgentTransports;
}

export class PeerReachability implements Reachability {
  readonly #ctx: Context;
  readonly #deps: ReachabilityDeps;

  constructor(ctx: Context, deps: ReachabilityDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  transport(peer_id: string): Transport {
    const { agentPeers, missingPanes, sockets, transports } = this.#deps;
    if (sockets.isCarrying(peer_id)) return "websocket";
    const agent = agentPeers.find(peer_id);
    const transport = agent && transports.adapterOf(agent.backend)?.transport(agent) || "none";
    return agent && transport === "pane" && missingPanes.has(agent) ? "none" : transport;
  }

  isReachable(peer_id: string): boolean {
    return this.transport(peer_id) !== "none";
  }

  isConnected(peer_id: string): boolean {
    return this.#deps.sockets.getSession(peer_id) !== undefined;
  }

  failure({ backend }: Pick<StoredPeer, "backend">, transport: Transport): string | undefined {
    return this.#deps.transports.knownFailures.degraded(backend, transport);
  }

  blockedReason(peer_id: string): string | null {
    return firstQueued(this.#ctx.db, peer_id)?.reason ?? null;
  }
}
