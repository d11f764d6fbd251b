/** How those who call are told apart: the door, and what the kernel shows of who is behind it. */

import type { Daemon } from "./daemon.ts";
import { AgentProcesses } from "../api/callers/agent_processes.ts";
import { Callers } from "../api/callers/callers.ts";
import { Gate } from "../api/guard.ts";
import * as peerRows from "../features/peers/store.ts";

export function openGate(house: Daemon): Gate {
  return new Gate({
    host: house.config["daemon.host"],
    allowed_hosts: house.config["daemon.allowed_hosts"],
    auth_token: house.config["daemon.auth_token"]?.reveal(),
    port: () => house.port,
    isOwnUser: (remote) => house.callers.isOwnUser(remote),
    pageOf: (request) => house.pages.of(request),
  });
}

export function openAgentProcesses({ ground: { db }, outside }: Daemon): AgentProcesses {
  return new AgentProcesses({
    live: () => peerRows.alive(db),
    recorded: () => peerRows.provedProcesses(db),
    isAlive: (pid, started) => outside.processes.isAlive(pid, started),
    parentOf: (pid) => outside.processes.parentOf(pid),
    isSeat: (pid) => outside.callers.isSeat(pid),
    pid: outside.pid,
  });
}

export function openCallers(house: Daemon): Callers {
  return new Callers({
    ...house.outside.callers,
    local: () => ({ host: house.config["daemon.host"], port: house.port }),
    agents: () => house.agent_processes.all(),
    parentOf: (pid) => house.outside.processes.parentOf(pid),
  });
}
