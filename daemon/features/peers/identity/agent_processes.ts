/** Processes that were proved to be agents: they count even after their peers left the mesh. */

import type { Reader } from "kit/data/sqlite.ts";
import { lineageOf, type ProcessTable } from "../../../host/processes.ts";
import type { KnownAgent } from "../../../host/sockets/terminal.ts";
import * as peerRows from "../store.ts";

/** A process that the kernel proved to be a peer's. */
type ProvenProcess = Pick<KnownAgent, "agent_pid" | "agent_started">;

interface AgentProcessesDeps {
  readonly db: Reader;
  readonly processes: Pick<ProcessTable, "isAlive" | "parentOf" | "startTimeOf">;
  /** True if people use a process directly, so that it does not count as an agent's process. */
  isUserFacing(pid: number): boolean;
  /** The daemon's own pid. */
  readonly pid: number;
}

/** Number of remembered processes at which processes that have ended are removed. */
const CLEANUP_AT = 256;
/** Maximum number of processes that are known not to be above the daemon. */
const NOT_ABOVE_MAX = 10_000;

/**
 * Anyone may take a peer offline or register another process for it, so a peer's current record
 * does not show whether a caller is a person. A proved process therefore counts as an agent's
 * process until it ends. A process that is only claimed counts while its peer is live, unless
 * people use that process directly.
 */
export class AgentProcesses {
  readonly #deps: AgentProcessesDeps;
  /** The proved processes by pid and start time; at first use, those of earlier runs. */
  #proven: Map<string, ProvenProcess> | undefined;
  #cleanup_at = CLEANUP_AT;
  /** The start times of processes that are no ancestors of the daemon. */
  readonly #notAbove = new Map<number, string>();

  constructor(deps: AgentProcessesDeps) {
    this.#deps = deps;
  }

  /** Remembers a process that a registration proved. */
  remember(process: ProvenProcess): void {
    const proven = this.#known();
    this.#add(proven, process);
    if (proven.size < this.#cleanup_at) return;
    this.#forgetEnded(proven);
    this.#cleanup_at = Math.max(CLEANUP_AT, 2 * proven.size);
  }

  /** True if any process that was proved still runs. */
  get isAnyRunning(): boolean {
    const proven = this.#known();
    if (proven.values().some((process) => this.#isRunning(process))) return true;
    proven.clear();
    return false;
  }

  /**
   * True if a process may be an agent's alone. An agent can prove any of its ancestors, and the
   * programs of others run below a terminal server.
   */
  mayBeAgent(pid: number): boolean {
    return !this.#isAboveDaemon(pid) && !this.#isUserFacing(pid);
  }

  /** Live peers, and proved processes that are still running. */
  all(): KnownAgent[] {
    const above = this.#daemonAncestors();
    const isAgent = (pid: number | null) => pid !== null && !above.has(pid);
    const liveAgents = peerRows.liveProcesses(this.#deps.db).map((peer) => {
      const { agent_pid, agent_started, agent_proved, pane_id, tmux_socket } = peer;
      const isCounted = isAgent(agent_pid) && (agent_proved || !this.#isUserFacing(agent_pid));
      return { agent_pid: isCounted ? agent_pid : null, agent_started, pane_id, tmux_socket };
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
    for (const process of peerRows.provedProcesses(this.#deps.db)) this.#add(this.#proven, process);
    return this.#proven;
  }

  /**
   * Adds a process, unless people use it directly. An agent can prove any of its ancestors, such as
   * a person's shell. If the shell were added, the person would be locked out.
   */
  #add(proven: Map<string, ProvenProcess>, { agent_pid, agent_started }: ProvenProcess): void {
    if (agent_pid === null || this.#isUserFacing(agent_pid)) return;
    proven.set(`${agent_pid} ${agent_started}`, { agent_pid, agent_started });
  }

  #isUserFacing(pid: number | null): boolean {
    return pid !== null && this.#deps.isUserFacing(pid);
  }

  #forgetEnded(proven: Map<string, ProvenProcess>): void {
    for (const [key, process] of proven) {
      if (!this.#isRunning(process)) proven.delete(key);
    }
  }

  #isRunning({ agent_pid, agent_started }: ProvenProcess): boolean {
    return agent_pid !== null && agent_started !== null &&
      this.#deps.processes.isAlive(agent_pid, agent_started);
  }

  /**
   * True for `#daemonAncestors`. Only a negative answer is kept: an ancestor may end and leave the
   * daemon to one of its own ancestors, but no other process becomes an ancestor.
   */
  #isAboveDaemon(pid: number): boolean {
    const started = this.#deps.processes.startTimeOf(pid);
    if (started !== undefined && this.#notAbove.get(pid) === started) return false;
    if (this.#daemonAncestors().has(pid)) return true;
    if (this.#notAbove.size >= NOT_ABOVE_MAX) this.#notAbove.clear();
    if (started !== undefined) this.#notAbove.set(pid, started);
    return false;
  }

  /** The daemon, its ancestors and process 1 are never agents. */
  #daemonAncestors(): ReadonlySet<number> {
    return new Set([1, ...lineageOf(this.#deps.processes, this.#deps.pid)]);
  }
}
