/** Parts of adapters: observation of an agent's process, and adapters that use only the pane. */

import { type IsAlive, isAlive } from "../../host/processes.ts";
import type { Adapter, AgentPeer, AgentTransport, Observation } from "./adapter.ts";

/** True if the agent's process runs; undefined for an agent without a registered process. */
export function observeProcess(
  { agent_pid, agent_started }: AgentPeer,
  checkAlive: IsAlive = isAlive,
): Observation | undefined {
  if (agent_pid === null) return undefined;
  const alive = checkAlive(agent_pid, agent_started ?? undefined);
  return { alive, turn_state: null, source: "process table" };
}

/** The adapter of an agent whose only transport is its pane. */
export function paneAdapter(
  pane: AgentTransport,
  rest: Omit<Adapter, "transports" | "transport">,
): Adapter {
  return {
    transports: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    ...rest,
  };
}
