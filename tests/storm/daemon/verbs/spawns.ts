/** Verbs about agents that the daemon spawns and restarts. */

import { SECRET_WORD } from "../texts.ts";
import type { Storm, Verb } from "../storm.ts";
import { anyPaneId, register } from "./lifecycle.ts";
import { SOCKET } from "../tmux.ts";

// deno-fmt-ignore
export const SPAWN_VERBS: readonly Verb[] = [
  { name: "spawn",             weight: 4, run: spawn },
  { name: "register a spawned agent", weight: 5, run: registerSpawned },
  { name: "restart a peer",    weight: 8, run: restart },
  { name: "cancel a restart",  weight: 1, run: cancel },
  { name: "ignore signals",    weight: 1, run: (storm) => Promise.resolve(ignoreSignals(storm)) },
  { name: "advance a restart", weight: 10, run: advance },
];

/** The first message of an agent that has not registered yet; it arrives out of order. */
function seed(storm: Storm): { message?: string } {
  return storm.chance.oneIn(2) ? { message: `${SECRET_WORD} for a start` } : {};
}

async function spawn(storm: Storm): Promise<void> {
  const asked = { backend: "generic", path: storm.directory, from_peer: storm.anyPeerName() };
  await storm.post("/spawn", { ...asked, ...seed(storm) });
}

/** Registers the program of a pane by that pane alone, as a real agent does. */
async function registerSpawned(storm: Storm): Promise<void> {
  const pane_id = anyPaneId(storm);
  const agent_pid = storm.tmux.panes.get(pane_id)?.pane_pid;
  const process = agent_pid === undefined ? {} : { agent_pid };
  await register(
    storm,
    { pane_id, tmux_socket: SOCKET, ...process },
    storm.chance.pick(storm.agents),
  );
}

async function restart(storm: Storm): Promise<void> {
  const { peer_id } = storm.chance.pick(storm.agents);
  const options = { wait: false, fresh: storm.chance.oneIn(2), dry_run: storm.chance.oneIn(6) };
  if (peer_id) await storm.post(`/peers/${peer_id}/restart`, { ...options, ...seed(storm) });
}

async function cancel(storm: Storm): Promise<void> {
  const { peer_id } = storm.chance.pick(storm.agents);
  if (peer_id) await storm.remove(`/peers/${peer_id}/restart`);
}

function ignoreSignals({ processes, tmux, chance }: Storm): void {
  const pane = chance.pick([...tmux.panes.values()]);
  if (processes.killOnly.size > 0) processes.killOnly.clear();
  else if (pane) processes.killOnly.add(pane.pane_pid);
}

/** A restart checks its process four times a second. */
async function advance(storm: Storm): Promise<void> {
  for (let turn = storm.chance.below(8); turn >= 0; turn--) await storm.w.clock.advance(250);
}
