/** Starts agents in panes, stores each spawn, and ends spawned agents. */

import { kindOf } from "../../host/terminal_addresses.ts";
import type { Context } from "../../data/context.ts";
import { type ProcessId, processIdOf, terminate, waitForExit } from "../../host/processes.ts";
import type { RequestContext } from "../messages/request_context.ts";
import { freeName, nameOf } from "../peers/identity/naming.ts";
import { withoutSecrets } from "./commands.ts";
import { Problem } from "protocol/problems.ts";
import type { Folders, Spawned, SpawnRequest, SpawnState } from "protocol/spawn/contract.ts";
import type { LaunchedAgent, SpawnDeps } from "./deps.ts";
import { completeFolder } from "./folders.ts";
import { Launcher } from "./launcher.ts";
import { SpawnRegistrations } from "./registrations.ts";
import * as rows from "./store.ts";
import type { Spawn } from "./store.ts";

/** Maximum time for a released agent to end by itself, and then after each signal. */
const END_MS_MAX = 5_000;

export class Spawns {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  readonly launcher: Launcher;
  readonly registrations: SpawnRegistrations;

  constructor(ctx: Context, deps: SpawnDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.launcher = new Launcher(ctx, deps);
    this.registrations = new SpawnRegistrations(ctx, deps);
  }

  async config() {
    const shown = withoutSecrets(this.#deps.settings);
    if (await this.launcher.missingRequirement() !== undefined) return { enabled: false, ...shown };
    const commands = await this.launcher.installedCommands();
    return { ...shown, enabled: Object.keys(commands).length > 0, commands };
  }

  /** The folders that complete a typed path. */
  folders(prefix: string): Promise<Folders> {
    return completeFolder(prefix, this.#deps.folders);
  }

  /** Stores a launched agent as a spawn. The agent may already have registered. */
  record(launched: LaunchedAgent, requestContext: RequestContext): Spawned {
    const { db } = this.#ctx;
    const { request, folder, circle, spawn_id, socket, pane, at } = launched;
    const { backend, message } = request;
    const isDeliverable = this.#deps.transports.adapterOf(backend) !== undefined;
    const seedState = isDeliverable ? "awaiting_registration" : "undeliverable";
    const spawn: Spawn = {
      spawn_id,
      backend,
      path: folder,
      circle,
      registration_state: "awaiting",
      profile: request.profile ?? null,
      role: request.role ?? "agent",
      name: request.name ?? null,
      tmux_socket: socket,
      tmux_session: pane.session,
      pane_id: pane.pane_id,
      pane_pid: pane.pane_pid,
      peer_id: null,
      seed: message !== undefined && isDeliverable ? message : null,
      seed_from: launched.from,
      seed_human: requestContext.proven_human,
      seed_unverified: requestContext.unverified ?? false,
      seed_state: message === undefined ? null : seedState,
      warnings: this.#warningsOf(request, isDeliverable),
      resumed_session: launched.resumes?.session_id ?? null,
      resumed_peer_id: launched.resumes?.peer_id ?? null,
      created_at: at,
      settled_at: null,
    };
    return db.transact((tx) => {
      const { budgets, directory, origins } = this.#deps;
      const { caused_by } = requestContext;
      // The agent of a job works for the job, and not for the peer that created it.
      if (caused_by !== undefined) budgets.inherit(tx, spawn_id, caused_by);
      else budgets.include(tx, spawn_id, directory.sender(launched.from), requestContext);
      if (launched.copies !== undefined) origins.includeCopy(tx, spawn_id, launched.copies);
      this.registrations.add(spawn);
      return this.#toAnswer(rows.get(db, spawn_id) ?? spawn);
    });
  }

  /** Runs the work that stores a launch. If it is refused or not stored, ends the new agent. */
  async storeOrUndo<T>(launched: LaunchedAgent, work: () => T): Promise<T> {
    try {
      const stored = work();
      await this.#ctx.db.whenDurable();
      return stored;
    } catch (error) {
      await this.undo(launched);
      throw error;
    }
  }

  /** Closes the pane of a launch that could not be stored. */
  async undo({ socket, pane }: LaunchedAgent): Promise<void> {
    await this.#deps.terminals.close(socket, pane.pane_id);
  }

  /** The state of a spawn now. */
  get(spawn_id: string): SpawnState {
    const spawn = rows.get(this.#ctx.db, spawn_id);
    if (!spawn) throw new Problem("unknown_spawn", { spawn_id });
    const { ok: _ok, warnings: _warnings, ...state } = this.#toAnswer(spawn);
    const { backend, path, peer_id } = spawn;
    const waits_for = this.registrations.waits.of(spawn_id);
    return { ...state, backend, path, peer_id, waits_for };
  }

  /** The peer of the spawned agent. `over` is true if no registration is expected any more. */
  status(spawn_id: string): { peer_id: string | null; over: boolean } {
    const spawn = rows.get(this.#ctx.db, spawn_id);
    return { peer_id: spawn?.peer_id ?? null, over: spawn?.settled_at !== null };
  }

  /** Closes the pane that was opened with this mark, if its spawn was never stored. */
  async cleanUp(mark: string, from_peer: string | null): Promise<void> {
    const ownSocket = this.#deps.agentPeers.getRecord(from_peer ?? "")?.tmux_socket;
    const found = await this.findPane(mark, ownSocket ?? undefined);
    if (found) await this.#deps.terminals.closeIfSame(found.socket, found.pane);
  }

  /** The pane that was opened with this mark, on this tmux server or on the usual one. */
  async findPane(
    mark: string,
    tmux_socket: string | undefined,
  ): Promise<Pick<LaunchedAgent, "socket" | "pane"> | undefined> {
    const { terminals } = this.#deps;
    const isTmux = (socket: string) => socket !== "" && kindOf(socket) === "tmux";
    for (const socket of new Set([tmux_socket ?? "", terminals.socket].filter(isTmux))) {
      const pane = await terminals.find(socket, mark);
      if (pane && !pane.dead) return { socket, pane };
    }
    return undefined;
  }

  /** Closes a spawn's pane, unless another process runs in it, and ends the agent. */
  async release(
    spawn_id: string,
    agent: ProcessId | undefined,
  ): Promise<void> {
    const { db, clock } = this.#ctx;
    const { terminals, processes, shutdownSignal: signal } = this.#deps;
    const spawn = rows.get(db, spawn_id);
    if (!spawn || spawn.pane_pid === null) return;
    const { tmux_socket, pane_id, pane_pid } = spawn;
    await terminals.closeIfSame(tmux_socket, { pane_id, pane_pid });
    // Its agent may have registered while tmux closed the pane.
    const current = rows.get(db, spawn_id);
    if (current?.settled_at === null) this.registrations.abandon(current);
    if (!agent) return;
    // Closing a pane hangs up its terminal, which ends most agents.
    if (await waitForExit(END_MS_MAX, agent, { clock, signal, processes })) return;
    await this.#hasEnded(spawn_id, agent);
  }

  /**
   * Ends the program of a spawn that has not registered. The pane proves which process it is: tmux
   * still runs the program there that the daemon has started. The pane therefore closes last.
   * Without an answer of tmux, the program counts as running.
   */
  async endSilent(spawn_id: string): Promise<"ended" | "gone" | "running"> {
    const { terminals, processes } = this.#deps;
    const spawn = rows.get(this.#ctx.db, spawn_id);
    if (!spawn || spawn.pane_pid === null) return "gone";
    const { tmux_socket, pane_id, pane_pid } = spawn;
    const pane = await terminals.getPane(tmux_socket, pane_id);
    if (!pane && !await terminals.isGone(tmux_socket, pane_id)) return "running";
    const isSame = pane?.pane_pid === pane_pid && !pane.dead;
    const agent = isSame ? processIdOf(processes, pane_pid) : undefined;
    if (agent && !await this.#hasEnded(spawn_id, agent)) return "running";
    await this.release(spawn_id, undefined);
    return agent ? "ended" : "gone";
  }

  /** Ends an agent by signals; false if it still runs, which is logged. */
  async #hasEnded(spawn_id: string, agent: ProcessId): Promise<boolean> {
    const { clock, log } = this.#ctx;
    const { processes, shutdownSignal: signal } = this.#deps;
    const limits = { term_ms: END_MS_MAX, kill_ms: END_MS_MAX };
    const ended = await terminate(agent, { ...limits, clock, signal, processes });
    signal.throwIfAborted();
    if (ended !== "forbidden" && ended !== "alive") return true;
    log.warn("A spawned agent did not end", { spawn_id, pid: agent.pid, why: ended });
    return false;
  }

  /** Updates the response to an earlier request, for a repetition of that request. */
  refresh<A extends Spawned>(before: A): A {
    const spawn = rows.get(this.#ctx.db, before.spawn_id);
    return spawn ? { ...before, ...this.#toAnswer(spawn) } : before;
  }

  /** The name that the agent gets if it registers now: a live peer may have the requested name. */
  #nameFor({ name, path, backend, circle, resumed_peer_id }: Spawn): string {
    const peer_id = resumed_peer_id ?? "";
    const wanted = name ?? nameOf({ path, backend });
    return freeName(this.#ctx.db, { name: wanted, circle, peer_id });
  }

  #toAnswer(spawn: Spawn): Spawned {
    const { spawn_id, pane_id, tmux_socket, tmux_session, peer_id } = spawn;
    const registered = peer_id === null ? undefined : this.#deps.agentPeers.getRecord(peer_id);
    return {
      ok: true,
      spawn_id,
      pane_id,
      tmux_socket,
      tmux_session,
      display_name: registered?.name ?? this.#nameFor(spawn),
      registration_state: spawn.registration_state,
      seed_state: spawn.seed_state,
      warnings: spawn.warnings,
    };
  }

  #warningsOf({ backend, message }: SpawnRequest, isDeliverable: boolean): string[] {
    const noHooks =
      `${backend} has no hooks here: the peer appears once its program registers itself`;
    const notStored = `No transport here reaches ${backend}: the message was not stored`;
    return [
      ...(this.#deps.hooks[backend] ? [] : [noHooks]),
      ...(message === undefined || isDeliverable ? [] : [notStored]),
    ];
  }
}
