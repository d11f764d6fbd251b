/** The observation tick: observes agents at regular intervals, without their hooks. */

import type { Context } from "kit/data/context.ts";
import type { AgentPeer, Observation } from "../agents/adapter.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { WakeHooks } from "./wake_hooks.ts";

/**
 * How often agents are observed. Hooks report at once, so this matters for agents without hooks.
 */
const OBSERVE_INTERVAL_MS = 2_000;

export interface AgentObserverDeps {
  readonly transports: Pick<AgentTransports, "observe" | "refreshKnownFailures">;
  readonly wakeHooks: Pick<WakeHooks, "releaseReachable">;
  readonly peers: {
    /** The peers that a transport may reach. */
    reachableAgents(): AgentPeer[];
    /** Peers without a known process that are offline because nothing was observed of them. */
    unobservedAgents(): AgentPeer[];
    markSeen(peer_id: string, transport: string): void;
    applyObservation(peer: AgentPeer, seen: Observation): void;
  };
}

export class AgentObserver {
  readonly #ctx: Context;
  readonly #deps: AgentObserverDeps;
  #observing = false;
  #observed_at = 0;

  constructor(ctx: Context, deps: AgentObserverDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  tick(now: number): void {
    if (this.#observing || now - this.#observed_at < OBSERVE_INTERVAL_MS) return;
    this.#observing = true;
    this.#observed_at = now;
    this.#deps.transports.refreshKnownFailures();
    this.#observeAll()
      .catch((error) => this.#ctx.log.error("Observing the agents failed", { error }))
      .finally(() => this.#observing = false);
  }

  /** Observes all agents at once, so that they share the queries to tmux and one transaction. */
  async #observeAll(): Promise<void> {
    const { peers, transports, wakeHooks } = this.#deps;
    const observe = async (peer: AgentPeer) => ({ peer, seen: await transports.observe(peer) });
    for (const { peer, seen } of await Promise.all(peers.reachableAgents().map(observe))) {
      if (seen) peers.applyObservation(peer, seen);
    }
    await wakeHooks.releaseReachable();
    for (const { peer, seen } of await Promise.all(peers.unobservedAgents().map(observe))) {
      if (seen?.alive) this.#restore(peer, seen);
    }
  }

  /** Puts an agent back online, unless it changed while it was observed. */
  #restore(peer: AgentPeer, seen: Observation): void {
    const { peers } = this.#deps;
    if (!peers.unobservedAgents().some(({ peer_id }) => peer_id === peer.peer_id)) return;
    peers.markSeen(peer.peer_id, "native");
    peers.applyObservation(peer, seen);
  }
}
