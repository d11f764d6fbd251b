/** The state of a peer's process now, as `identity.ts` needs it. */

import type { ProcessId, ProcessTable } from "../../../host/processes.ts";
import { isLive } from "../directory.ts";
import type { Registration } from "protocol/peers/record.ts";
import type { IdentityFacts, StoredPeer } from "../store.ts";
import type { KnownPeer, ProcessState } from "./identity.ts";

/** The processes of this machine, and its name. */
export interface Processes {
  readonly machine: string;
  readonly processes: Pick<ProcessTable, "isAlive" | "startTimeOf">;
}

type Process = Pick<StoredPeer, "agent_pid" | "agent_started" | "machine">;

/** The facts of a record by which a sender is matched with its peer. */
export function knownPeerOf(here: Processes, peer: Omit<IdentityFacts, "name">): KnownPeer {
  const { peer_id } = peer;
  const state = processStateOf(here, peer);
  return {
    peer_id,
    process: recordedProcess(peer),
    state,
    is_live: isLive(peer) && state !== "ended",
  };
}

/** The process on a peer's record; null without one, or if its start is unknown. */
export function recordedProcess(
  { agent_pid: pid, agent_started: started }: Omit<Process, "machine">,
): ProcessId | null {
  return pid !== null && started !== null ? { pid, started } : null;
}

function processStateOf(here: Processes, peer: Omit<IdentityFacts, "name">): ProcessState {
  if (peer.agent_pid === null) return "none";
  if (hasEnded(here, peer)) return "ended";
  const isHere = peer.machine === here.machine && peer.agent_started !== null;
  return peer.agent_proved && isHere ? "proved" : "claimed";
}

/** True if the recorded process is known to have ended. */
export function hasEnded(
  { machine, processes }: Processes,
  { agent_pid, agent_started, machine: recorded }: Process,
): boolean {
  if (agent_pid === null || agent_started === null) return false;
  return recorded === machine && !processes.isAlive(agent_pid, agent_started);
}

/** True if the recorded process is known to run on this machine. */
export function isRunning(here: Processes, peer: Process): boolean {
  return peer.machine === here.machine && recordedProcess(peer) !== null && !hasEnded(here, peer);
}

/** When the process of a registration started; undefined if it is on another machine. */
export function startTimeOf(
  { machine, processes }: Processes,
  { agent_pid, machine: given = machine }: Pick<Registration, "agent_pid" | "machine">,
): string | undefined {
  if (agent_pid === undefined || given !== machine) return undefined;
  return processes.startTimeOf(agent_pid);
}
