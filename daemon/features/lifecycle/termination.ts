/** Kills peers: ends the process that is proved to be the peer's, and retires the peer. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { type ProcessId, type Signal, terminate } from "../../host/processes.ts";
import { isLive, mustGetPeer } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import type { KillResult } from "protocol/lifecycle.ts";
import type { LifecycleDeps } from "./deps.ts";

/** Maximum time for a process to end after SIGTERM, and then after SIGKILL. */
const TERM_GRACE_MS = 5_000;
const KILL_WAIT_MS_MAX = 2_000;

export class Termination {
  readonly #ctx: Context;
  readonly #deps: LifecycleDeps;

  constructor(ctx: Context, deps: LifecycleDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Ends the peer's process, which must be proved to be its own, and retires the peer. */
  async kill(peer_id: string): Promise<KillResult> {
    await this.#mustRunInOwnPane(peer_id, this.#mustGetProcess(peer_id));
    const process = this.#mustGetProcess(peer_id);
    const signal = await this.#terminate(peer_id, process);
    this.#ctx.db.transact(() => {
      const now = rows.get(this.#ctx.db, peer_id);
      if (!now || now.closed) return; // The peer was closed meanwhile.
      if (now.agent_started !== null && now.agent_started !== process.started) {
        throw killRefused(peer_id, "replaced"); // A new process has registered meanwhile.
      }
      const cause = { reason: "killed", source: "operator", detail: signal };
      this.#deps.peers.offline(peer_id, { ...cause, terminal: true });
    });
    return { ok: true, peer_id, agent_pid: process.pid, signal };
  }

  async #terminate(peer_id: string, process: ProcessId): Promise<Signal> {
    const ended = await terminate(process, {
      term_ms: TERM_GRACE_MS,
      kill_ms: KILL_WAIT_MS_MAX,
      clock: this.#ctx.clock,
      processes: this.#deps.processes,
    });
    if (ended === "forbidden") throw killRefused(peer_id, "not_permitted");
    if (ended === "alive") throw killRefused(peer_id, "does_not_end");
    return ended === "gone" ? "SIGTERM" : ended;
  }

  /**
   * Refuses a process outside its peer's pane, because the record must be wrong. Refuses a tmux
   * server, however it was registered, because every pane would end with it.
   */
  async #mustRunInOwnPane(peer_id: string, { pid }: ProcessId): Promise<void> {
    const { paneObserver, machine, processes } = this.#deps;
    const { db } = this.#ctx;
    const panes = await paneObserver.all(rows.tmuxSockets(db, machine));
    if (panes.some(({ pane_pid }) => processes.parentOf(pane_pid) === pid)) {
      throw killRefused(peer_id, "process_protected");
    }
    const { pane_id, tmux_socket, agent_proved } = rows.get(db, peer_id) ?? {};
    // The pane may be gone, because a process may outlive its pane.
    const ownPane = panes.find((pane) =>
      pane.pane_id === pane_id && pane.tmux_socket === tmux_socket && !pane.dead
    );
    if (ownPane && !paneObserver.holds(ownPane, pid)) {
      throw killRefused(peer_id, "agent_elsewhere");
    }
    // Any caller may register any pid and pane. Only the process itself or the daemon can prove
    // that they belong to the peer.
    if (!agent_proved) throw killRefused(peer_id, "process_unproved");
  }

  /** The peer's process. Refuses one whose pid and start time do not prove it. */
  #mustGetProcess(peer_id: string): ProcessId {
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    const { machine, agent_pid, agent_started } = peer;
    if (machine !== this.#deps.machine) throw killRefused(peer_id, "other_host");
    if (agent_pid === null) throw killRefused(peer_id, "no_process");
    if (agent_started === null) throw killRefused(peer_id, "process_unproved");
    if (this.#isDaemonOrAncestor(agent_pid)) throw killRefused(peer_id, "process_protected");
    if (!this.#deps.processes.isAlive(agent_pid, agent_started)) {
      const isReused = this.#deps.processes.isAlive(agent_pid);
      throw killRefused(peer_id, isReused ? "pid_reused" : "not_running");
    }
    const holders = rows.byProcess(this.#ctx.db, agent_pid, agent_started);
    if (holders.some((holder) => holder.peer_id !== peer_id && isLive(holder))) {
      throw killRefused(peer_id, "process_shared"); // Another peer would end too.
    }
    return { pid: agent_pid, started: agent_started };
  }

  /** True if the process is the daemon, one of its ancestors, or the init process. */
  #isDaemonOrAncestor(pid: number): boolean {
    let at: number | undefined = this.#deps.pid;
    while (at && at !== pid) at = this.#deps.processes.parentOf(at);
    return at === pid || pid === 1;
  }
}

function killRefused(peer_id: string, reason: string): Problem {
  return new Problem("kill_refused", { peer_id, reason });
}
