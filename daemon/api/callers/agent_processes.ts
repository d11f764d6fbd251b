/** The processes that were proved to be agents: one that leaves the mesh is an agent still. */

import type { KnownAgent } from "../../host/sockets/terminal.ts";

/** A process that the kernel has shown to be a peer's. */
export type ProvenProcess = Pick<KnownAgent, "agent_pid" | "agent_started">;

export interface AgentProcessesDeps {
  /** Live peers that have a process or a pane, and whether the process was proved. */
  liveAgents(): readonly (KnownAgent & { readonly agent_proved: boolean })[];
  /** What the records of all peers tell of, those that have gone included. */
  recordedProcesses(): readonly ProvenProcess[];
  isAlive(pid: number, started: string): boolean;
  parentOf(pid: number): number | undefined;
  /** Whether a process is no agent, but what people sit in front of: see `isSeat`. */
  isUserFacing(pid: number): boolean;
  /** The daemon's own pid. */
  readonly pid: number;
}

/** How many are remembered before those that have ended are looked for. */
const CLEANUP_AT = 256;
/** How far above the daemon its ancestors are looked for. */
const GENERATIONS_MAX = 64;

/**
 * A peer may be taken offline by anyone, and may register another process: what its record says
 * now does not tell who is a person. So a process that was proved counts for as long as it lives.
 * A pid that was only claimed counts while its peer is live, unless a person sits in front of it.
 */
export class AgentProcesses {
  readonly #deps: AgentProcessesDeps;
  /** By pid and start. Undefined until the first look: the records tell of earlier runs. */
  #proven: Map<string, ProvenProcess> | undefined;
  #cleanup_at = CLEANUP_AT;

  constructor(deps: AgentProcessesDeps) {
    this.#deps = deps;
  }

  /** A registration has proved its process. */
  remember(process: ProvenProcess): void {
    const proven = this.#known();
    this.#add(proven, process);
    if (proven.size < this.#cleanup_at) return;
    this.#forgetEnded(proven);
    this.#cleanup_at = Math.max(CLEANUP_AT, 2 * proven.size);
  }

  /** Live peers, and processes that were proved to be a peer's and run on. */
  all(): KnownAgent[] {
    const above = this.#daemonAncestors();
    const isAgent = (pid: number | null) => pid !== null && !above.has(pid);
    const liveAgents = this.#deps.liveAgents().map(({ agent_pid, agent_proved, ...peer }) => {
      const isCounted = isAgent(agent_pid) && (agent_proved || !this.#isUserFacing(agent_pid));
      return { ...peer, agent_pid: isCounted ? agent_pid : null };
    });
    const proven = this.#known();
    this.#forgetEnded(proven);
    const remaining = [...proven.values()].filter(({ agent_pid }) => isAgent(agent_pid));
    return [
      ...liveAgents,
      ...remaining.map((process) => ({ ...process, pane_id: null, tmux_socket: null })),
    ];
  }

  #known(): Map<string, ProvenProcess> {
    if (this.#proven) return this.#proven;
    this.#proven = new Map();
    for (const process of this.#deps.recordedProcesses()) this.#add(this.#proven, process);
    return this.#proven;
  }

  /** An agent can prove whatever it descends from; a person is not to be shut out for that. */
  #add(proven: Map<string, ProvenProcess>, { agent_pid, agent_started }: ProvenProcess): void {
    if (agent_pid === null || this.#isUserFacing(agent_pid)) return;
    proven.set(`${agent_pid} ${agent_started}`, { agent_pid, agent_started });
  }

  #isUserFacing(pid: number | null): boolean {
    return pid !== null && this.#deps.isUserFacing(pid);
  }

  #forgetEnded(proven: Map<string, ProvenProcess>): void {
    for (const [key, { agent_pid, agent_started }] of proven) {
      const alive = agent_pid !== null && agent_started !== null &&
        this.#deps.isAlive(agent_pid, agent_started);
      if (!alive) proven.delete(key);
    }
  }

  /** The daemon, what started it, and the first process of the machine are no agents. */
  #daemonAncestors(): ReadonlySet<number> {
    const above = new Set([1]);
    let at: number | undefined = this.#deps.pid;
    for (let depth = 0; at !== undefined && depth < GENERATIONS_MAX; depth++) {
      above.add(at);
      at = this.#deps.parentOf(at);
    }
    return above;
  }
}
