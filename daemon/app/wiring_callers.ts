/** How those who call are told apart: the door, and what the kernel shows of who is behind it. */

import type { Daemon } from "./daemon.ts";
import { AgentProcesses } from "../api/callers/agent_processes.ts";
import { Callers } from "../api/callers/callers.ts";
import { Guard } from "../api/guard.ts";
import * as peerRows from "../features/peers/store.ts";

export function openGuard(house: Daemon): Guard {
  return new Guard({
    host: house.config["daemon.host"],
    allowed_hosts: house.config["daemon.allowed_hosts"],
    auth_token: house.config["daemon.auth_token"]?.reveal(),
    port: () => house.port,
    isOwnUser: (remote) => house.callers.isOwnUser(remote),
    pageOf: (request) => house.pages.of(request),
  });
}

export function openAgentProcesses({ ctx: { db }, platform }: Daemon): AgentProcesses {
  return new AgentProcesses({
    liveAgents: () => peerRows.livePeers(db),
    recordedProcesses: () => peerRows.provedProcesses(db),
    isAlive: (pid, started) => platform.processes.isAlive(pid, started),
    parentOf: (pid) => platform.processes.parentOf(pid),
    isUserFacing: (pid) => platform.callers.isUserFacing(pid),
    pid: platform.pid,
  });
}

export function openCallers(house: Daemon): Callers {
  return new Callers({
    ...house.platform.callers,
    local: () => ({ host: house.config["daemon.host"], port: house.port }),
    agents: () => house.agent_processes.all(),
    parentOf: (pid) => house.platform.processes.parentOf(pid),
  });
}
