/** The agents whose MCP clients have listed the tools of mesh. */

import { lineageOf, type ProcessTable } from "../../host/processes.ts";

/** A client has about five processes above it. */
const PROCESSES_MAX = 20_000;

export class ToolClients {
  readonly #processes: Pick<ProcessTable, "parentOf">;
  /** The processes of clients, and all above them. */
  readonly #known = new Set<number>();

  constructor(processes: Pick<ProcessTable, "parentOf">) {
    this.#processes = processes;
  }

  /** The MCP client in this process has the tools. */
  add(pid: number): void {
    if (this.#known.size > PROCESSES_MAX) this.#known.clear();
    for (const above of lineageOf(this.#processes, pid)) this.#known.add(above);
  }

  /** True if a client in or below this process has got the tools since the daemon's start. */
  has(agent_pid: number): boolean {
    return this.#known.has(agent_pid);
  }
}
