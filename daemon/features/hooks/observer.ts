/** The observation tick: observes agents at regular intervals, without their hooks. */

import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { AgentPeer, Observation } from "../agents/adapter.ts";
import type { MissingPanes } from "../agents/missing_panes.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import type { Peers } from "../peers/peers.ts";
import type { PeerTurns } from "../peers/turns.ts";
import type { WakeHooks } from "./wake_hooks.ts";

/** The interval between observations, which matter for agents without hooks. */
const OBSERVE_INTERVAL_MS = 2_000;

interface AgentObserverDeps {
  readonly missingPanes: MissingPanes;
  readonly transports: AgentTransports;
  readonly wakeHooks: WakeHooks;
  readonly agentPeers: AgentPeers;
  readonly peers: Peers;
  readonly turns: PeerTurns;
}

export class AgentObserver {
  readonly #ctx: Context;
  readonly #deps: AgentObserverDeps;
  #observing = false;
  #observed_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: AgentObserverDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: Monotonic): void {
    if (this.#observing || now - this.#observed_at < OBSERVE_INTERVAL_MS) return;
    this.#observing = true;
    this.#observed_at = now;
    this.#deps.transports.knownFailures.refresh();
    const observing = this.#observeAll().finally(() => this.#observing = false);
    void this.#ctx.background.run("Observing the agents failed", observing);
  }

  /** Observes all agents at once, so that they share the queries to tmux and one transaction. */
  async #observeAll(): Promise<void> {
    const { agentPeers, missingPanes, transports, turns, wakeHooks } = this.#deps;
    await missingPanes.refresh(agentPeers.reachable());
    const observe = async (peer: AgentPeer) => {
      return { peer, seen: await transports.adapterOf(peer.backend)?.observe(peer) };
    };
    for (const { peer, seen } of await Promise.all(agentPeers.reachable().map(observe))) {
      if (seen) turns.applyObservation(peer, seen);
    }
    await wakeHooks.releaseNeedless();
    for (const { peer, seen } of await Promise.all(agentPeers.unobserved().map(observe))) {
      if (seen?.alive) this.#restore(peer, seen);
    }
  }

  /** Puts an agent back online, unless it changed while it was observed. */
  #restore(peer: AgentPeer, seen: Observation): void {
    const { agentPeers, peers, turns } = this.#deps;
    if (!agentPeers.unobserved().some(({ peer_id }) => peer_id === peer.peer_id)) return;
    peers.markSeen(peer.peer_id, "native");
    turns.applyObservation(peer, seen);
  }
}
