/** Executions that restarts replaced, whose late offline reports are ignored. */

/** One run of an agent: where it ran, and as which process. */
export interface PaneProcess {
  readonly pane_id: string;
  readonly agent_pid: number;
}

/** Remembered executions per peer; the processes of older ones have ended. */
const PROCESSES_PER_PEER_MAX = 16;

export interface Replacement extends PaneProcess {
  readonly peer_id: string;
  readonly restart_id: string;
}

/**
 * Kept in memory only, until the daemon restarts (specification 3). A restart adds an execution
 * before it stops it.
 */
export class Superseded {
  readonly #restarts = new Map<string, Omit<Replacement, keyof PaneProcess>>();

  /** The number of remembered executions. */
  get size(): number {
    return this.#restarts.size;
  }

  add({ pane_id, agent_pid, peer_id, restart_id }: Replacement): void {
    const key = keyOf({ pane_id, agent_pid });
    this.#restarts.delete(key); // The newest comes last.
    this.#restarts.set(key, { peer_id, restart_id });
    const [oldest, ...rest] = this.#keysOf(peer_id);
    if (oldest !== undefined && rest.length >= PROCESSES_PER_PEER_MAX) {
      this.#restarts.delete(oldest);
    }
  }

  /** Forgets the executions of a removed peer. */
  forget(peer_id: string): void {
    for (const key of this.#keysOf(peer_id)) this.#restarts.delete(key);
  }

  /** The restart that replaced this execution; both of pane and process must match. */
  findRestart({ pane_id, agent_pid }: { [F in keyof PaneProcess]?: PaneProcess[F] | undefined }) {
    if (pane_id === undefined || agent_pid === undefined) return undefined;
    return this.#restarts.get(keyOf({ pane_id, agent_pid }))?.restart_id;
  }

  #keysOf(peer_id: string): string[] {
    return [...this.#restarts].filter(([, entry]) => entry.peer_id === peer_id).map(([key]) => key);
  }
}

function keyOf({ pane_id, agent_pid }: PaneProcess): string {
  return `${pane_id} ${agent_pid}`;
}
