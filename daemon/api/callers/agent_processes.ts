/** The processes that were proved to be agents: one that leaves the mesh is an agent still. */

import type { KnownAgent } from "../../host/sockets/terminal.ts";

/** A process that the kernel has shown to be a peer's. */
export type ProvedProcess = Pick<KnownAgent, "agent_pid" | "agent_started">;

export interface AgentProcessesNeeds {
  /** Live peers that have a process or a pane, and whether the process was proved. */
  live(): readonly (KnownAgent & { readonly agent_proved: boolean })[];
  /** What the records of all peers tell of, those that have gone included. */
  recorded(): readonly ProvedProcess[];
  isAlive(pid: number, started: string): boolean;
  parentOf(pid: number): number | undefined;
  /** Whether a process is no agent, but what people sit in front of: see `isSeat`. */
  isSeat(pid: number): boolean;
  /** The daemon's own pid. */
  readonly pid: number;
}

/** How many are remembered before those that have ended are looked for. */
const SWEEP_AT = 256;
/** How far above the daemon its ancestors are looked for. */
const GENERATIONS_MAX = 64;

/**
 * A peer may be taken offline by anyone, and may register another process: what its record says
 * now does not tell who is a person. So a process that was proved counts for as long as it lives.
 * A pid that was only claimed counts while its peer is live, unless a person sits in front of it.
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
  remember(process: ProvedProcess): void {
    const proved = this.#known();
    this.#add(proved, process);
    if (proved.size < this.#sweep_at) return;
    this.#forgetEnded(proved);
    this.#sweep_at = Math.max(SWEEP_AT, 2 * proved.size);
  }

  /** Live peers, and processes that were proved to be a peer's and run on. */
  all(): KnownAgent[] {
    const above = this.#aboveDaemon();
    const isAgent = (pid: number | null) => pid !== null && !above.has(pid);
    const live = this.#needs.live().map(({ agent_pid, agent_proved, ...peer }) => {
      const counts = isAgent(agent_pid) && (agent_proved || !this.#isSeat(agent_pid));
      return { ...peer, agent_pid: counts ? agent_pid : null };
    });
    const proved = this.#known();
    this.#forgetEnded(proved);
    const left = [...proved.values()].filter(({ agent_pid }) => isAgent(agent_pid));
    return [...live, ...left.map((process) => ({ ...process, pane_id: null, tmux_socket: null }))];
  }

  #known(): Map<string, ProvedProcess> {
    if (this.#proved) return this.#proved;
    this.#proved = new Map();
    for (const process of this.#needs.recorded()) this.#add(this.#proved, process);
    return this.#proved;
  }

  /** An agent can prove whatever it descends from; a person is not to be shut out for that. */
  #add(proved: Map<string, ProvedProcess>, { agent_pid, agent_started }: ProvedProcess): void {
    if (agent_pid === null || this.#isSeat(agent_pid)) return;
    proved.set(`${agent_pid} ${agent_started}`, { agent_pid, agent_started });
  }

  #isSeat(pid: number | null): boolean {
    return pid !== null && this.#needs.isSeat(pid);
  }

  #forgetEnded(proved: Map<string, ProvedProcess>): void {
    for (const [key, { agent_pid, agent_started }] of proved) {
      const lives = agent_pid !== null && agent_started !== null &&
        this.#needs.isAlive(agent_pid, agent_started);
      if (!lives) proved.delete(key);
    }
  }

  /** The daemon, what started it, and the first process of the machine are no agents. */
  #aboveDaemon(): ReadonlySet<number> {
    const above = new Set([1]);
    let at: number | undefined = this.#needs.pid;
    for (let climbed = 0; at !== undefined && climbed < GENERATIONS_MAX; climbed++) {
      above.add(at);
      at = this.#needs.parentOf(at);
    }
    return above;
  }
}
