/** Any program that reads lines in a tmux pane: no hooks, no dialogs of its own, no proof. */

import { isAlive } from "../../../host/processes.ts";
import type { Tmuxes } from "../../../host/tmux/tmux.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import type { Adapter, Addressee, Sighting } from "../adapter.ts";
import { type PaneOptions, paneRung } from "../pane.ts";
import { genericScreen } from "./screen.ts";

export function genericAdapter(options: Omit<PaneOptions, "screen">): Adapter {
  const pane = paneRung({ ...options, screen: genericScreen });
  return {
    backend: "generic",
    rungs: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    sight: (peer) => sight(peer, options),
  };
}

/** Its process decides; a pane that tmux knows to be dead overrules it. Turns are not visible. */
async function sight(
  peer: Addressee,
  { tmuxes, isAlive: lives = isAlive }: Pick<PaneOptions, "tmuxes" | "isAlive">,
): Promise<Sighting | undefined> {
  const { agent_pid, agent_started } = peer;
  const running = agent_pid === null ? undefined : lives(agent_pid, agent_started ?? undefined);
  if (running === false) return { alive: false, turn_state: null, source: "process table" };
  const pane = await paneOf(peer, tmuxes);
  if (pane === "missing" && !running) return { alive: false, turn_state: null, source: "tmux" };
  if (pane && pane !== "missing") {
    return { alive: !pane.dead, turn_state: null, source: "tmux pane" };
  }
  return running ? { alive: true, turn_state: null, source: "process table" } : undefined;
}

/** `missing`: tmux has no such pane, or its server is gone; undefined when it does not say. */
async function paneOf(peer: Addressee, tmuxes: Tmuxes): Promise<Pane | "missing" | undefined> {
  if (peer.tmux_socket === null || peer.pane_id === null) return undefined;
  const listed = await tmuxes.at(peer.tmux_socket).looks.panes();
  if (!listed.ok) return listed.reason === "no_server" ? "missing" : undefined;
  return listed.panes.get(peer.pane_id) ?? "missing";
}
