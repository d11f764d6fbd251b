/** The spawn desk: starts agents in panes, knows them when they register, hands them their seed. */

import type { Context } from "kit/data/context.ts";
import { Problem, recoverableProblem } from "kit/core/problem.ts";
import type { OpenResult, Terminals } from "../../host/tmux/terminals.ts";
import { terminate, waitForExit } from "../../host/processes.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import { commandOf, withoutSecrets } from "./commands.ts";
import type { SpawnAsked, Spawned } from "./contract.ts";
import { spawnMachine } from "./machine.ts";
import type { LaunchedAgent, SourcePane, SpawnDeps } from "./deps.ts";
import { allowedFolder } from "./paths.ts";
import * as rows from "./store.ts";
import type { Spawn } from "./store.ts";

/** How long a spawned agent may take to register before it counts as late. */
const REGISTER_MS_MAX = 5 * 60_000;
/** How long one that is late is still waited for: a person may have to answer a dialog first. */
const LATE_MS_MAX = 24 * 3_600_000;
/** How long a released agent may take to end by itself, and then to obey a signal. */
const END_MS_MAX = 5_000;
/** How often the panes of those that are awaited are looked at. */
const CHECK_INTERVAL_MS = 2_000;
/** Whoever asks without saying who. */
const NOBODY = "cli";
/** Who tells a sender that its message reached nobody. */
const DAEMON = "mesh";

export class Spawns {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  #checking: Promise<void> | undefined;
  #checked_at = 0;

  constructor(ctx: Context, deps: SpawnDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    ctx.events.subscribe({
      event: ({ type, data }) => {
        if (type === "peer_registered" || type === "peer_updated") {
          this.#peerRegistered(data.peer_id);
        }
      },
    });
  }

  async config() {
    return { enabled: await this.enabled(), ...withoutSecrets(this.#deps.settings) };
  }

  /** At least one command, one allowed path, and a tmux (contract 3). */
  async enabled(): Promise<boolean> {
    return this.#missingSetting() === undefined && await this.#deps.terminals.isAvailable();
  }

  async mustBeEnabled(): Promise<void> {
    const lacking = this.#missingSetting() ??
      (await this.#deps.terminals.isAvailable() ? undefined : "tmux is not installed");
    if (lacking) throw new Problem("spawn_disabled", { lacking });
  }

  #missingSetting(): string | undefined {
    const { commands, allowed_paths } = this.#deps.settings;
    if (Object.keys(commands).length === 0) return "spawn.commands names no command";
    return allowed_paths.length === 0 ? "spawn.allowed_paths names no folder" : undefined;
  }

  /** Checks everything, then starts the agent, with what is `supplied` behind its command. */
  async launch(
    asked: SpawnAsked,
    tmux_socket: string | undefined,
    { extraArgs = [], mark }: { extraArgs?: readonly string[] | undefined; mark?: string } = {},
  ): Promise<LaunchedAgent> {
    const { terminals, settings, peers } = this.#deps;
    await this.mustBeEnabled();
    if (asked.name) peers.refuseReserved(asked.name);
    const command = commandOf(settings, asked.backend, asked.profile);
    const found = await allowedFolder(asked.path, {
      allowed: settings.allowed_paths,
      home: terminals.home,
    });
    if (!found.ok) throw new Problem("path_not_allowed", { path: asked.path, reason: found.why });
    const spawn_id = this.#ctx.ids.next("spawn");
    const sender = peers.sender(asked.from_peer ?? NOBODY);
    const from = sender.peer_id ?? sender.name;
    const source = await this.#findSourcePane(asked, sender, tmux_socket);
    const launch = {
      cwd: found.folder,
      argv: [...command.argv, ...extraArgs],
      env: { ...command.env, MESH_SPAWN_ID: spawn_id },
      ...(mark !== undefined && { mark }),
    };
    if (!await terminals.hasProgram(tmux_socket ?? source?.socket ?? terminals.socket, launch)) {
      throw new Problem("spawn_failed", { reason: "the command's program is not there" });
    }
    const place = { source, circle: asked.circle ?? this.#circleOf(sender, source) };
    const at = this.#ctx.clock.now();
    const { socket, opened, circle } = await this.#openPane(place, launch, tmux_socket);
    if (!opened.ok) throw new Problem("spawn_failed", { reason: opened.reason });
    return { asked, folder: found.folder, circle, spawn_id, from, socket, pane: opened.pane, at };
  }

  async #openPane(
    { source, circle }: { source: SourcePane | undefined; circle: string | undefined },
    launch: Parameters<Terminals["openWindow"]>[2],
    tmux_socket: string | undefined,
  ): Promise<{ socket: string; opened: OpenResult; circle: string }> {
    const { terminals, settings } = this.#deps;
    if (settings.circle_boundary === "window") {
      if (!source) throw new Problem("source_pane_required", {});
      const opened = await terminals.splitWindow(source.socket, source.pane.pane_id, launch);
      return { socket: source.socket, opened, circle: circle ?? windowCircle(source.pane) };
    }
    const socket = tmux_socket ?? source?.socket ?? terminals.socket;
    const named = circle ?? "default";
    // tmux writes no dot into a session's name.
    const opened = await terminals.openWindow(socket, named.replaceAll(".", "_"), launch);
    return { socket, opened, circle: named };
  }

  /** The pane that the caller is in: the one it names, else the one it is registered on. */
  async #findSourcePane(
    { source_pane }: SpawnAsked,
    sender: { peer_id: string | null },
    tmux_socket: string | undefined,
  ): Promise<SourcePane | undefined> {
    const { terminals, peers } = this.#deps;
    const ownPeer = sender.peer_id === null ? undefined : peers.get(sender.peer_id);
    const pane_id = source_pane ?? ownPeer?.pane_id;
    if (!pane_id) return undefined;
    const ownSocket = pane_id === ownPeer?.pane_id ? ownPeer.tmux_socket : null;
    const socket = tmux_socket ?? ownSocket ?? terminals.socket;
    const pane = await terminals.look(socket, pane_id);
    return pane && { socket, pane };
  }

  /** The circle that a pane's window is (contract 1); undefined where sessions bound circles. */
  async circleOf(socket: string, pane_id: string): Promise<string | undefined> {
    const { terminals, settings } = this.#deps;
    if (settings.circle_boundary !== "window") return undefined;
    const pane = await terminals.look(socket, pane_id);
    return pane && windowCircle(pane);
  }

  #circleOf(sender: { circle: string | null }, source: SourcePane | undefined): string | undefined {
    if (this.#deps.settings.circle_boundary === "window") return undefined;
    const session = source?.pane.session;
    return sender.circle ??
      (session && /^[A-Za-z0-9._-]{1,64}$/.test(session) ? session : undefined);
  }

  /** Writes down what was launched; whoever has registered on the pane meanwhile is known. */
  record(launched: LaunchedAgent, requestContext: { proven_human: boolean }): Spawned {
    const { db } = this.#ctx;
    const { asked, folder, circle, spawn_id, socket, pane, at } = launched;
    const { backend, message } = asked;
    const isDeliverable = this.#deps.canDeliverTo(backend);
    const spawn: Spawn = {
      spawn_id,
      backend,
      path: folder,
      circle,
      registration_state: "awaiting" as const,
      profile: asked.profile ?? null,
      role: asked.role ?? "agent",
      name: asked.name ?? null,
      tmux_socket: socket,
      tmux_session: pane.session,
      pane_id: pane.pane_id,
      pane_pid: pane.pane_pid,
      peer_id: null,
      seed: message !== undefined && isDeliverable ? message : null,
      seed_from: launched.from,
      seed_human: requestContext.proven_human,
      seed_state: message === undefined
        ? null
        : isDeliverable
        ? "awaiting_registration"
        : "undeliverable",
      warnings: this.#warningsOf(asked, isDeliverable),
      created_at: at,
      settled_at: null,
    };
    return db.transact((tx) => {
      rows.insert(tx, spawn);
      this.#publish(spawn);
      this.#matchExisting(spawn);
      return this.toAnswer(rows.get(db, spawn_id) ?? spawn);
    });
  }

  #warningsOf({ backend, message }: SpawnAsked, isDeliverable: boolean): string[] {
    const warnings: string[] = [];
    if (!this.#deps.registersItself(backend)) {
      warnings.push(`${backend} has no hooks here: it is known once the program itself registers`);
    }
    if (message !== undefined && !isDeliverable) {
      warnings.push(`Nothing here carries messages to ${backend}: the message was not kept`);
    }
    return warnings;
  }

  /** A spawn that was not written down is undone. */
  async undo({ socket, pane }: LaunchedAgent): Promise<void> {
    await this.#deps.terminals.close(socket, pane.pane_id);
  }

  /** Who has registered; `over` when nobody is waited for any more. */
  status(spawn_id: string): { peer_id: string | null; over: boolean } {
    const spawn = rows.get(this.#ctx.db, spawn_id);
    return { peer_id: spawn?.peer_id ?? null, over: spawn?.settled_at !== null };
  }

  /** Closes the pane that was opened with a mark, and never written down. */
  async cleanUp(mark: string, from_peer: string): Promise<void> {
    const { terminals, peers } = this.#deps;
    const sockets = new Set([terminals.socket, peers.get(from_peer)?.tmux_socket ?? ""]);
    for (const socket of [...sockets].filter(Boolean)) {
      const pane = await terminals.find(socket, mark);
      if (pane) await terminals.closeIfSame(socket, pane);
    }
  }

  /** Closes the pane of a spawn, where it holds what was started in it, and ends its agent. */
  async release(
    spawn_id: string,
    agent: { pid: number; started: string } | undefined,
  ): Promise<void> {
    const { db, clock, log } = this.#ctx;
    const { terminals, processes, shutdownSignal: signal } = this.#deps;
    const spawn = rows.get(db, spawn_id);
    if (!spawn || spawn.pane_pid === null) return;
    const { tmux_socket, pane_id, pane_pid, settled_at } = spawn;
    await terminals.closeIfSame(tmux_socket, { pane_id, pane_pid });
    if (settled_at === null) this.#abandon(spawn);
    if (!agent) return;
    const waitOptions = { clock, signal, processes };
    if (await waitForExit(END_MS_MAX, agent, waitOptions)) return; // Its terminal hung up.
    const limits = { term_ms: END_MS_MAX, kill_ms: END_MS_MAX };
    const ended = await terminate(agent, { ...limits, ...waitOptions });
    signal.throwIfAborted();
    if (ended === "forbidden" || ended === "alive") {
      log.warn("A spawned agent did not end", { spawn_id, pid: agent.pid, why: ended });
    }
  }

  toAnswer(spawn: Spawn): Spawned {
    const { spawn_id, pane_id, tmux_socket, tmux_session, backend, path, peer_id } = spawn;
    const known = peer_id === null ? undefined : this.#deps.peers.get(peer_id)?.name;
    const { registration_state, seed_state, warnings, name } = spawn;
    const display_name = known ?? name ?? this.#deps.peers.nameOf(path, backend);
    const place = { pane_id, tmux_socket, tmux_session, display_name };
    return { ok: true, spawn_id, ...place, registration_state, seed_state, warnings };
  }

  /** What a spawn has come to since it was first answered. */
  refresh<A extends Spawned>(before: A): A {
    const spawn = rows.get(this.#ctx.db, before.spawn_id);
    return spawn ? { ...before, ...this.toAnswer(spawn) } : before;
  }

  /** The profile that a peer was spawned with. */
  profileOf(peer_id: string): string | undefined {
    return rows.ofPeer(this.#ctx.db, peer_id)?.profile ?? undefined;
  }

  /** After a start: those that registered while it was not noticed are known. */
  start(): void {
    for (const spawn of rows.open(this.#ctx.db)) this.#matchExisting(spawn);
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    for (const spawn of rows.open(db)) {
      const age = now - spawn.created_at;
      if (age > LATE_MS_MAX) this.#abandon(spawn);
      else if (age > REGISTER_MS_MAX && spawn.registration_state === "awaiting") {
        this.#timeOut(spawn);
      }
    }
    if (this.#checking || now - this.#checked_at < CHECK_INTERVAL_MS) return;
    this.#checked_at = now;
    this.#checking = this.#checkPanes()
      .catch((error) => this.#ctx.log.error("A look at spawned panes failed", { error }))
      .finally(() => this.#checking = undefined);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await this.#checking;
  }

  async #checkPanes(): Promise<void> {
    for (const spawn of rows.open(this.#ctx.db)) {
      const gone = await this.#deps.terminals.isGone(spawn.tmux_socket, spawn.pane_id);
      if (!gone) await this.#deps.linkSilentAgent(spawn);
      const current = gone ? rows.get(this.#ctx.db, spawn.spawn_id) : undefined;
      if (current?.settled_at === null) this.#abandon(current);
    }
  }

  #matchExisting(spawn: Spawn): void {
    const peer = this.#deps.peers.findByPane(spawn.pane_id, spawn.tmux_socket);
    if (!peer || peer.backend !== spawn.backend) return;
    if ((peer.last_seen ?? 0) < spawn.created_at) return;
    const { circle, role, name } = spawn; // It was quicker than the record of its spawn.
    this.#deps.peers.reassign(peer.peer_id, { circle, role, ...(name !== null && { name }) });
    this.#register(spawn, peer.peer_id);
  }

  #peerRegistered(peer_id: string): void {
    const peer = this.#deps.peers.get(peer_id);
    if (!peer?.pane_id) return;
    const spawn = rows.open(this.#ctx.db).find(({ pane_id, tmux_socket, backend }) =>
      pane_id === peer.pane_id && tmux_socket === peer.tmux_socket && backend === peer.backend
    );
    if (spawn) this.#register(spawn, peer_id);
  }

  /** The pane's agent is known: its seed goes into its queue in the same transaction. */
  #register(spawn: Spawn, peer_id: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      const registration_state = spawnMachine.step(spawn.registration_state, "registered");
      const undeliverable = spawn.seed !== null && this.#deliverSeed(spawn, peer_id) !== undefined;
      const seed_state = undeliverable || spawn.seed_state === "undeliverable"
        ? "undeliverable" as const
        : null;
      const settled_at = clock.now();
      const now = { ...spawn, registration_state, peer_id, seed: null, seed_state, settled_at };
      rows.update(tx, now);
      this.#publish(now);
    });
  }

  /** Undefined once the message is accepted for delivery; else why it was refused. */
  #deliverSeed({ seed, seed_from, seed_human }: Spawn, peer_id: string): string | undefined {
    const from_peer = seed_from ?? NOBODY;
    try {
      const note = { from_peer, to_peer: peer_id, text: seed ?? "" };
      this.#deps.notify(note, { proven_human: seed_human });
      return undefined;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#notifySender(from_peer, `Your message to a spawned agent was refused: ${refusal.code}`);
      return refusal.code;
    }
  }

  #timeOut(spawn: Spawn): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      const registration_state = spawnMachine.step(spawn.registration_state, "timed_out");
      const now = { ...spawn, registration_state };
      rows.update(tx, now);
      this.#publish(now);
    });
  }

  /** Nobody will register on this pane any more; whoever left a message is told. */
  #abandon(spawn: Spawn): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      const hadSeed = spawn.seed !== null;
      const seed_state = hadSeed ? "undeliverable" as const : spawn.seed_state;
      const settled_at = clock.now();
      const state = { registration_state: "timed_out" as const, seed: null, seed_state };
      const now = { ...spawn, ...state, settled_at };
      rows.update(tx, now);
      this.#publish(now);
      if (!hadSeed) return;
      const subjectText = `The agent of ${spawn.spawn_id} (${spawn.backend} in ${spawn.path})`;
      this.#notifySender(
        spawn.seed_from ?? NOBODY,
        `${subjectText} never registered: your message is lost`,
      );
    });
  }

  /** Only a registered peer can be told. */
  #notifySender(from_peer: string, text: string): void {
    const { peer_id } = this.#deps.peers.sender(from_peer);
    if (peer_id === null) return;
    try {
      const note = { from_peer: DAEMON, to_peer: peer_id, text };
      this.#deps.notify(note, { proven_human: false });
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#ctx.log.info("A sender could not be told", { peer_id, code: refusal.code });
    }
  }

  #publish({ spawn_id, backend, circle, pane_id, peer_id, registration_state, seed_state }: Spawn) {
    const dataFields = { spawn_id, backend, circle, pane_id, peer_id };
    this.#ctx.events.append("spawn", { ...dataFields, registration_state, seed_state });
  }
}

/** The circle of a tmux window: `@7` is `window-7`. */
function windowCircle({ window }: Pane): string {
  return `window-${window.slice(1)}`;
}
