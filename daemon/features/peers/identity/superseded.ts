/** Executions that restarts replaced, whose late offline reports are ignored. */

import type { Offline } from "protocol/peers/contract.ts";

/** Remembered executions per peer; the processes of older ones have ended. */
const PROCESSES_PER_PEER_MAX = 16;

/** One execution of an agent: its pane, its process, and the restart that replaced it. */
export interface Replacement {
  readonly pane_id: string;
  readonly agent_pid: number;
  readonly peer_id: string;
  readonly restart_id: string;
}

/** Kept in memory only (specification 3). A restart adds an execution before it stops it. */
export class SupersededExecutions {
  readonly #restarts = new Map<string, Replacement>();

  /** The number of remembered executions. */
  get size(): number {
    return this.#restarts.size;
  }

  add(replacement: Replacement): void {
    const key = keyOf(replacement);
    this.#restarts.delete(key); // The newest comes last.
    this.#restarts.set(key, replacement);
    const [oldest, ...rest] = this.#keysOf(replacement.peer_id);
    if (oldest !== undefined && rest.length >= PROCESSES_PER_PEER_MAX) {
      this.#restarts.delete(oldest);
    }
  }

  /** Forgets the executions of a removed peer. */
  forget(peer_id: string): void {
    for (const key of this.#keysOf(peer_id)) this.#restarts.delete(key);
  }

  /** The restart that replaced this execution; both pane and process must match. */
  findRestart(cause: Pick<Offline, "agent_pid" | "pane_id">): string | undefined {
    return this.#restarts.get(keyOf(cause))?.restart_id;
  }

  #keysOf(peer_id: string): string[] {
    return [...this.#restarts].filter(([, entry]) => entry.peer_id === peer_id).map(([key]) => key);
  }
}

function keyOf({ pane_id, agent_pid }: Pick<Offline, "agent_pid" | "pane_id">): string {
  return `${pane_id} ${agent_pid}`;
}
