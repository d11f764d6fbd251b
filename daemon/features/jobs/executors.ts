/** Executors: the peers that execute jobs, and the agents that are spawned for them. */

import type { Context } from "../../data/context.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { Backend } from "protocol/agents/contract.ts";
import { isLive } from "../peers/directory.ts";
import { hasEnded, recordedProcess } from "../peers/identity/known_peer.ts";
import type { Origins } from "../origins/origins.ts";
import type { Peers } from "../peers/peers.ts";
import type { TurnEvidence } from "../peers/turn_end.ts";
import { idleSince } from "../peers/turns.ts";
import type { ProcessTable } from "../../host/processes.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { isRestarting } from "../spawn/restarts/replacement.ts";
import type { Spawns } from "../spawn/spawns.ts";

/** The fields of a peer that a fire needs. */
export type ExecutorPeer = Pick<
  StoredPeer,
  "peer_id" | "status" | "addressable" | "turn_state" | "turn_at" | "path"
>;

/** An agent to start for a fire. */
export interface StartRequest {
  readonly path: string;
  readonly backend: Backend;
  readonly profile?: string | undefined;
  readonly circle: string;
  readonly from_peer?: string;
  /** The peer whose session the agent resumes, if that is possible. */
  readonly resumes: string | undefined;
  /** A word in the pane, which identifies it after a crash before the agent was stored. */
  readonly mark: string;
  /** The job whose chain the agent belongs to. */
  readonly job_id: string;
}

/** A started agent that is not yet stored. */
export interface StartedExecutor {
  readonly resumed: boolean;
  /** Stores the agent in the caller's transaction, and returns its spawn id. */
  record(): string;
  /** Ends an agent that is no longer needed. */
  undo(): Promise<void>;
}

interface ExecutorsDeps {
  /** The name of this machine. */
  readonly machine: string;
  readonly origins: Pick<Origins, "memberChain" | "mustAllow">;
  readonly peers: Pick<Peers, "offline">;
  readonly processes: ProcessTable;
  readonly shutdownSignal: AbortSignal;
  readonly spawns: Spawns;
  readonly transports: Pick<AgentTransports, "adapterOf">;
}

export class Executors {
  readonly #ctx: Context;
  readonly #deps: ExecutorsDeps;

  constructor(ctx: Context, deps: ExecutorsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The fields of a peer that a fire needs; undefined if it was never registered or is closed. */
  get(peer_id: string): ExecutorPeer | undefined {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (!peer || peer.closed) return undefined;
    const { addressable, turn_state, turn_at, path, dropped_at } = peer;
    const status = dropped_at === null ? peer.status : "offline";
    return { peer_id, status, addressable, turn_state, turn_at, path };
  }

  /** True if a peer has a process of its own, and not only a session. */
  hasProcess(peer_id: string): boolean {
    return typeof peerRows.get(this.#ctx.db, peer_id)?.agent_pid === "number";
  }

  /** The time since which an executor is idle, with its source; null if busy or unknown. */
  idleSince(peer_id: string): TurnEvidence["idle"] {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    return peer && peer.dropped_at === null ? idleSince(peer) : null;
  }

  /** True if a peer is unknown, closed or retired, or its process has ended without a restart. */
  isDead(peer_id: string): boolean {
    const { db } = this.#ctx;
    const peer = peerRows.get(db, peer_id);
    if (!peer || peer.closed || peer.status === "retired") return true;
    return peer.status === "offline" && hasEnded(this.#deps, peer) && !isRestarting(db, peer_id);
  }

  /** True if a peer is offline and no process, pane or session identifies it. */
  isUntraceable(peer_id: string): boolean {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (!peer || isLive(peer)) return false;
    const { agent_pid, pane_id, runtime_session_id } = peer;
    return agent_pid === null && pane_id === null && runtime_session_id === null;
  }

  /**
   * Starts an agent. It resumes the session of the peer `resumes`, if its adapter supports that and
   * the session is on the disk. Throws a `Problem` on a refusal.
   */
  async start({ resumes, mark, job_id, ...request }: StartRequest): Promise<StartedExecutor> {
    const { origins, spawns } = this.#deps;
    const chain = origins.memberChain(job_id);
    const from = { peer_id: request.from_peer ?? null, name: job_id };
    if (chain) origins.mustAllow(chain, { verb: "spawn", from });
    const extraArgs = resumes === undefined
      ? undefined
      : await this.#resumeArgs(resumes, request.path);
    const body = { ...request, role: "agent" as const };
    const launched = await spawns.launcher.launch(body, undefined, { extraArgs, mark });
    return {
      resumed: extraArgs !== undefined,
      record: () => spawns.record(launched, { proven_human: false, caused_by: job_id }).spawn_id,
      undo: () => spawns.undo(launched),
    };
  }

  /** Ends the agent that was spawned for a fire. Returns false if the daemon shuts down first. */
  async release(
    spawn_id: string,
    peer_id: string | null,
    { terminal }: { terminal: boolean },
  ): Promise<boolean> {
    const { db } = this.#ctx;
    const { peers, shutdownSignal, spawns } = this.#deps;
    const peer = peer_id === null ? undefined : peerRows.get(db, peer_id);
    const process = peer && recordedProcess(peer) || undefined;
    try {
      await spawns.release(spawn_id, process);
    } catch (error) {
      if (shutdownSignal.aborted) return false;
      throw error;
    }
    if (peer) await this.#deps.transports.adapterOf(peer.backend)?.interruptTurn?.(peer);
    const now = peer_id === null ? undefined : peerRows.get(db, peer_id);
    // Another execution that has replaced the peer meanwhile is left alone.
    if (
      now && !now.closed && now.status !== "retired" &&
      now.agent_started === (peer?.agent_started ?? null)
    ) {
      peers.offline(now.peer_id, { reason: "job_over", source: "daemon", terminal });
    }
    return true;
  }

  async #resumeArgs(peer_id: string, path: string): Promise<readonly string[] | undefined> {
    const { runtime_session_id, backend = null } = peerRows.get(this.#ctx.db, peer_id) ?? {};
    const adapter = this.#deps.transports.adapterOf(backend);
    if (!runtime_session_id || !adapter?.resume) return undefined;
    const found = await adapter.resume({ runtime_session_id, path });
    return found.ok ? found.args : undefined;
  }
}

const BARE_ID = /\b(?:notif|attempt)-[0-9a-f]{12}\b/g;

/** The ids in a prompt that may name a fire: those of its frames; without frames, all ids. */
export function fireIdsIn(prompt: string, framed_ids: readonly string[]): readonly string[] {
  return prompt.includes("[mesh") ? framed_ids : prompt.match(BARE_ID) ?? [];
}
