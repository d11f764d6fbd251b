/** The adapter for any program in a pane: no hooks, no known dialogs, no proof of delivery. */

import { isAlive } from "../../../host/processes.ts";
import type { TmuxServers } from "../../../host/tmux/tmux.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { createPaneTransport, type PaneOptions } from "../pane_transport.ts";
import { genericScreen } from "./screen.ts";

export function genericAdapter(options: Omit<PaneOptions, "screen">): Adapter {
  const pane = createPaneTransport({ ...options, screen: genericScreen });
  return {
    backend: "generic",
    transports: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    observe: (peer) => observe(peer, options),
  };
}

/**
 * Whether the program is alive. Its process decides, unless tmux reports the pane as dead. Turns
 * cannot be observed.
 */
async function observe(
  peer: AgentPeer,
  { tmuxServers, isAlive: checkAlive = isAlive }: Pick<PaneOptions, "tmuxServers" | "isAlive">,
): Promise<Observation | undefined> {
  const { agent_pid, agent_started } = peer;
  const isRunning = agent_pid === null
    ? undefined
    : checkAlive(agent_pid, agent_started ?? undefined);
  if (isRunning === false) return { alive: false, turn_state: null, source: "process table" };
  const pane = await paneOf(peer, tmuxServers);
  if (pane === "missing" && !isRunning) return { alive: false, turn_state: null, source: "tmux" };
  if (pane && pane !== "missing") {
    return { alive: !pane.dead, turn_state: null, source: "tmux pane" };
  }
  return isRunning ? { alive: true, turn_state: null, source: "process table" } : undefined;
}

/**
 * The peer's pane. `missing` means that tmux has no such pane, or that its server is gone.
 * Undefined if tmux does not answer.
 */
async function paneOf(
  peer: AgentPeer,
  tmuxServers: TmuxServers,
): Promise<Pane | "missing" | undefined> {
  if (peer.tmux_socket === null || peer.pane_id === null) return undefined;
  const listed = await tmuxServers.at(peer.tmux_socket).cache.panes();
  if (!listed.ok) return listed.reason === "no_server" ? "missing" : undefined;
  return listed.panes.get(peer.pane_id) ?? "missing";
}
