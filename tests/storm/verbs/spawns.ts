/** Verbs of a storm about agents that the daemon starts itself, and starts anew. */

import { WORD } from "../texts.ts";
import type { Storm, Verb } from "../storm.ts";
import { register, somePane } from "./lifecycle.ts";
import { SOCKET } from "../tmux.ts";

// deno-fmt-ignore
export const ABOUT_SPAWNS: readonly Verb[] = [
  { name: "spawn",             weight: 4, run: spawn },
  { name: "a spawned one registers", weight: 5, run: arrive },
  { name: "restart a peer",    weight: 8, run: restart },
  { name: "cancel a restart",  weight: 1, run: cancel },
  { name: "a deaf process",    weight: 1, run: (storm) => Promise.resolve(deafen(storm)) },
  { name: "a restart goes on", weight: 10, run: goOn },
];

/** What is said to an agent that is not there yet; it comes out of its order. */
function seed(storm: Storm): { message?: string } {
  return storm.chance.oneIn(2) ? { message: `${WORD} for a start` } : {};
}

async function spawn(storm: Storm): Promise<void> {
  const asked = { backend: "generic", path: storm.directory, from_peer: storm.somebody() };
  await storm.post("/spawn", { ...asked, ...seed(storm) });
}

/** Whatever runs in a pane registers itself by that pane alone, as a program of ours would. */
async function arrive(storm: Storm): Promise<void> {
  const pane_id = somePane(storm);
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
  const manner = { wait: false, fresh: storm.chance.oneIn(2), dry_run: storm.chance.oneIn(6) };
  if (peer_id) await storm.post(`/peers/${peer_id}/restart`, { ...manner, ...seed(storm) });
}

async function cancel(storm: Storm): Promise<void> {
  const { peer_id } = storm.chance.pick(storm.agents);
  if (peer_id) await storm.remove(`/peers/${peer_id}/restart`);
}

function deafen({ processes, tmux, chance }: Storm): void {
  const pane = chance.pick([...tmux.panes.values()]);
  if (processes.deaf.size > 0) processes.deaf.clear();
  else if (pane) processes.deaf.add(pane.pane_pid);
}

/** A restart looks four times a second. */
async function goOn(storm: Storm): Promise<void> {
  for (let look = storm.chance.below(8); look >= 0; look--) await storm.w.clock.advance(250);
}
