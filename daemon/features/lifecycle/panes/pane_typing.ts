/** Typing by a person into a peer's pane. The text goes into that very pane, or nowhere. */

import { Problem } from "protocol/problems.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { AgentTransports } from "../../agents/transports.ts";
import type { TypedKeys, TypingRequest } from "protocol/panes.ts";
import type { LifecycleDeps } from "../deps.ts";
import type { PaneProof } from "./pane_proof.ts";

interface PaneTypingDeps extends Pick<LifecycleDeps, "paneObserver"> {
  readonly paneProof: PaneProof;
  readonly transports: AgentTransports;
  /** True if the configuration allows it. */
  readonly is_allowed: boolean;
}

export class PaneTyping {
  readonly #deps: PaneTypingDeps;

  constructor(deps: PaneTypingDeps) {
    this.#deps = deps;
  }

  /**
   * Types all keys or none. The pane must be proved to be the peer's, and must pass the checks of a
   * delivery except for the reasons that the person accepts. Without keys, only checks.
   */
  async type(peer_id: string, { keys, accept }: TypingRequest): Promise<TypedKeys> {
    const { is_allowed, paneObserver, paneProof, transports } = this.#deps;
    if (!is_allowed) throw new Problem("typing_off", {});
    const before = paneProof.mustHavePane(peer_id);
    const { pane_id, tmux_socket } = before;
    paneProof.mustBeProved(before, await paneObserver.at(tmux_socket, pane_id));
    const peer = paneProof.mustHavePane(peer_id);
    const typed = await transports.terminalOf(peer)?.typeKeys(peer, keys, new Set(accept)) ??
      { state: "refused", reason: "no_transport" };
    if (typed.state === "typed") {
      return { peer_id, pane_id, keys: keys.length, overruled: [...typed.overruled] };
    }
    const { reason } = typed;
    const why = sentenceOf(reason);
    throw new Problem(typed.state === "refused" ? "not_typed" : "typing_unclear", {
      peer_id,
      reason,
      why,
    });
  }
}
