/** The processes that were proved to be agents: one that leaves the mesh is an agent still. */

import type { KnownAgent } from "./terminal.ts";

/** A process that the kernel has shown to be a peer's. */
export type ProvedProcess = Pick<KnownAgent, "agent_pid" | "agent_started">;

export interface AgentProcessesNeeds {
  /** Live peers that have a process or a pane. */
  live(): readonly KnownAgent[];
  /** What the records of all peers tell of, those that have gone included. */
  recorded(): readonly ProvedProcess[];
  isAlive(pid: number, started: string): boolean;
}

/** How many are remembered before those that have ended are looked for. */
const SWEEP_AT = 256;

/**
 * A peer may be taken offline by anyone, and may register another process: what its record says
 * now does not tell who is a person. So a process that was proved counts for as long as it lives.
 */
export class AgentProcesses {
  readonly #needs: AgentProcessesNeeds;
  /** By pid and start. Undefined until the first look: the records tell of earlier runs. */
  #proved: Map<string, ProvedProcess> | undefined;
  #sweep_at = SWEEP_AT;

  constructor(needs: AgentProcessesNeeds) {
    this.#needs = needs;
  }

  /** A registration has proved its process. */
  remember({ agent_pid, agent_started }: ProvedProcess): void {
    const proved = this.#known();
    proved.set(keyOf({ agent_pid, agent_started }), { agent_pid, agent_started });
    if (proved.size < this.#sweep_at) return;
    this.#forgetEnded(proved);
    this.#sweep_at = Math.max(SWEEP_AT, 2 * proved.size);
  }

  /** Live peers, and processes that were proved to be a peer's and run on. */
  all(): KnownAgent[] {
    const proved = this.#known();
    this.#forgetEnded(proved);
    const elsewhere = { pane_id: null, tmux_socket: null };
    const left = [...proved.values()].map((process) => ({ ...process, ...elsewhere }));
    return [...this.#needs.live(), ...left];
  }

  #known(): Map<string, ProvedProcess> {
    return this.#proved ??= new Map(this.#needs.recorded().map((one) => [keyOf(one), one]));
  }

  #forgetEnded(proved: Map<string, ProvedProcess>): void {
    for (const [key, { agent_pid, agent_started }] of proved) {
      const lives = agent_pid !== null && agent_started !== null &&
        this.#needs.isAlive(agent_pid, agent_started);
      if (!lives) proved.delete(key);
    }
  }
}

function keyOf({ agent_pid, agent_started }: ProvedProcess): string {
  return `${agent_pid} ${agent_started}`;
}
