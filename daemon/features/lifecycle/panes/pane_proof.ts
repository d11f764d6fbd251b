/** Proof that a pane is a peer's. A person may look into such a pane, and type there. */

import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { kindOf } from "../../../host/terminals/addresses.ts";
import type { PaneFacts } from "../../../host/tmux/pane_observer.ts";
import * as rows from "../../peers/store.ts";
import type { StoredPeer } from "../../peers/store.ts";
import type { LifecycleDeps } from "../deps.ts";

export type PanedPeer = StoredPeer & { readonly pane_id: string };

type PaneProofDeps = Pick<LifecycleDeps, "machine" | "paneObserver" | "processes">;

/** The result of an observation of a pane. */
type PaneResult =
  | { readonly state: "found"; readonly pane: PaneFacts }
  | { readonly state: "missing" | "unknown" };

export class PaneProof {
  readonly #ctx: Context;
  readonly #deps: PaneProofDeps;

  constructor(ctx: Context, deps: PaneProofDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A peer that has a pane on this machine. */
  mustHavePane(peer_id: string): PanedPeer {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer || peer.closed) throw new Problem("unknown_peer", { peer: peer_id });
    const { status, machine, pane_id } = peer;
    if (status === "retired") throw new Problem("peer_retired", { peer_id });
    if (machine !== null && machine !== this.#deps.machine) {
      throw new Problem("other_host", { peer_id, machine });
    }
    if (pane_id === null) throw new Problem("missing_pane", { peer_id });
    return { ...peer, pane_id };
  }

  /**
   * Returns the observation of the pane. Refuses a pane that is not proved to be the peer's, or
   * that the peer has left since `before` was read.
   */
  mustBeProved<S extends PaneResult>(before: PanedPeer, seen: S): Extract<S, { state: "found" }> {
    const { peer_id, pane_id, tmux_socket } = before;
    const unverified = (reason: string) =>
      new Problem("pane_unverified", { peer_id, pane_id, reason });
    if (!isFound(seen)) {
      if (seen.state === "missing") throw new Problem("missing_pane", { peer_id });
      const terminal = kindOf(tmux_socket ?? "");
      throw unverified(`${terminal} does not answer, or its socket is not trusted`);
    }
    const peer = this.mustHavePane(peer_id);
    const hasMoved = peer.pane_id !== pane_id || peer.tmux_socket !== tmux_socket;
    const reason = hasMoved ? "it has moved" : this.#whyUnproved(peer, seen.pane);
    if (reason !== undefined) throw unverified(reason);
    return seen;
  }

  /** The reason why the pane is not proved to be the peer's; undefined if it is. */
  #whyUnproved(peer: StoredPeer, pane: PaneFacts): string | undefined {
    const { agent_pid, agent_started, agent_proved } = peer;
    const { processes, paneObserver } = this.#deps;
    if (pane.dead) return "the program in the pane has ended";
    if (agent_pid === null || agent_started === null) return "no process of it is known";
    // Any caller may register any pid and pane; only the process or the daemon can prove them.
    if (!agent_proved) return "its process was named by another program";
    if (!processes.isAlive(agent_pid, agent_started)) return "its process has ended";
    if (!paneObserver.holds(pane, agent_pid)) return "its process runs elsewhere";
    return undefined;
  }
}

function isFound<S extends PaneResult>(seen: S): seen is Extract<S, { state: "found" }> {
  return seen.state === "found";
}
