/** The adapter for any program in a pane: no hooks, no known dialogs, no proof of delivery. */

import { kindOf } from "../../../host/terminals/addresses.ts";
import type { TerminalServers } from "../../../host/terminals/terminal_server.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import { genericScreen } from "./screen.ts";

export function genericAdapter(options: Omit<PaneOptions, "screen">): Adapter {
  const pane = new PaneTransport({ ...options, screen: genericScreen });
  return paneAdapter(pane, { backend: "generic", observe: (peer) => observe(peer, options) });
}

/**
 * Checks if the program is alive. Its process decides, unless the terminal reports the pane as
 * dead. Turns cannot be observed.
 */
async function observe(
  peer: AgentPeer,
  { terminalServers, isAlive }: Pick<PaneOptions, "terminalServers" | "isAlive">,
): Promise<Observation | undefined> {
  const observed = observeProcess(peer, isAlive);
  if (observed?.alive === false) return observed;
  const pane = await paneOf(peer, terminalServers);
  const terminal = kindOf(peer.tmux_socket ?? "");
  if (pane === "missing") return observed ?? { alive: false, turn_state: null, source: terminal };
  return pane ? { alive: !pane.dead, turn_state: null, source: `${terminal} pane` } : observed;
}

/** The peer's pane; `missing` if its terminal has none or is gone, undefined without an answer. */
async function paneOf(
  peer: AgentPeer,
  terminalServers: TerminalServers,
): Promise<Pane | "missing" | undefined> {
  if (peer.tmux_socket === null || peer.pane_id === null) return undefined;
  const listed = await terminalServers.at(peer.tmux_socket).cache.panes();
  if (!listed.ok) return listed.reason === "no_server" ? "missing" : undefined;
  return listed.panes.get(peer.pane_id) ?? "missing";
}
