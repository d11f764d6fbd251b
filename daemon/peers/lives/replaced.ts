/** Executions that a restart has replaced: what they still say of their end is not believed. */

/** One run of an agent: where it ran, and as which process. */
export interface Execution {
  readonly pane_id: string;
  readonly agent_pid: number;
}

/**
 * Known in memory only, until the daemon restarts (specification 3). Whoever replaces an execution
 * notes it before anything of it is stopped.
 */
export class Replaced {
  readonly #restarts = new Map<string, string>();

  note({ pane_id, agent_pid, restart_id }: Execution & { readonly restart_id: string }): void {
    this.#restarts.set(keyOf({ pane_id, agent_pid }), restart_id);
  }

  /** The restart that replaced this execution; both of pane and process must match. */
  matches({ pane_id, agent_pid }: { [F in keyof Execution]?: Execution[F] | undefined }) {
    if (pane_id === undefined || agent_pid === undefined) return undefined;
    return this.#restarts.get(keyOf({ pane_id, agent_pid }));
  }
}

function keyOf({ pane_id, agent_pid }: Execution): string {
  return `${pane_id} ${agent_pid}`;
}
