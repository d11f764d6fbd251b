/** The spawn desk: starts agents in panes, knows them when they register, hands them their seed. */

import type { Ground } from "kit/data/context.ts";
import { Problem, refusalOf } from "kit/core/problem.ts";
import type { Opened, Terminals } from "../../host/tmux/terminals.ts";
import type { Registration } from "../peers/contract.ts";
import { endsWithin, terminate } from "../../host/processes.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import { commandOf, withoutValues } from "./commands.ts";
import type { SpawnAsked, Spawned } from "./contract.ts";
import { spawnMachine } from "./machine.ts";
import type { Launched, Source, SpawnNeeds } from "./deps.ts";
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
const LOOK_EVERY_MS = 2_000;
/** Whoever asks without saying who. */
const NOBODY = "cli";
/** Who tells a sender that its message reached nobody. */
const DAEMON = "mesh";

export class Spawns {
  readonly #ground: Ground;
  readonly #needs: SpawnNeeds;
  #looking: Promise<void> | undefined;
  #looked_at = 0;

  constructor(ground: Ground, needs: SpawnNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    ground.events.subscribe({
      event: ({ type, data }) => {
        if (type === "peer_registered" || type === "peer_updated") this.#arrived(data.peer_id);
      },
    });
  }

  async config() {
    return { enabled: await this.enabled(), ...withoutValues(this.#needs.settings) };
  }

  /** At least one command, one allowed path, and a tmux (contract 3). */
  async enabled(): Promise<boolean> {
    return this.#lacking() === undefined && await this.#needs.terminals.present();
  }

  async mustBeEnabled(): Promise<void> {
    const lacking = this.#lacking() ??
      (await this.#needs.terminals.present() ? undefined : "tmux is not installed");
    if (lacking) throw new Problem("spawn_disabled", { lacking });
  }

  #lacking(): string | undefined {
    const { commands, allowed_paths } = this.#needs.settings;
    if (Object.keys(commands).length === 0) return "spawn.commands names no command";
    return allowed_paths.length === 0 ? "spawn.allowed_paths names no folder" : undefined;
  }

  /** Checks everything, then starts the agent, with what is `supplied` behind its command. */
  async launch(
    asked: SpawnAsked,
    tmux_socket: string | undefined,
    { supplied = [], mark }: { supplied?: readonly string[] | undefined; mark?: string } = {},
  ): Promise<Launched> {
    const { terminals, settings, peers } = this.#needs;
    await this.mustBeEnabled();
    if (asked.name) peers.refuseReserved(asked.name);
    const command = commandOf(settings, asked.backend, asked.profile);
    const found = await allowedFolder(asked.path, {
      allowed: settings.allowed_paths,
      home: terminals.home,
    });
    if (!found.ok) throw new Problem("path_not_allowed", { path: asked.path, reason: found.why });
    const spawn_id = this.#ground.ids.next("spawn");
    const sender = peers.sender(asked.from_peer ?? NOBODY);
    const from = sender.peer_id ?? sender.name;
    const source = await this.#sourceOf(asked, sender, tmux_socket);
    const launch = {
      cwd: found.folder,
      argv: [...command.argv, ...supplied],
      env: { ...command.env, MESH_SPAWN_ID: spawn_id },
      ...(mark !== undefined && { mark }),
    };
    if (!await terminals.finds(tmux_socket ?? source?.socket ?? terminals.socket, launch)) {
      throw new Problem("spawn_failed", { reason: "the command's program is not there" });
    }
    const place = { source, circle: asked.circle ?? this.#circleOf(sender, source) };
    const at = this.#ground.clock.now();
    const { socket, opened, circle } = await this.#open(place, launch, tmux_socket);
    if (!opened.ok) throw new Problem("spawn_failed", { reason: opened.reason });
    return { asked, folder: found.folder, circle, spawn_id, from, socket, pane: opened.pane, at };
  }

  async #open(
    { source, circle }: { source: Source | undefined; circle: string | undefined },
    launch: Parameters<Terminals["openWindow"]>[2],
    tmux_socket: string | undefined,
  ): Promise<{ socket: string; opened: Opened; circle: string }> {
    const { terminals, settings } = this.#needs;
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
  async #sourceOf(
    { source_pane }: SpawnAsked,
    sender: { peer_id: string | null },
    tmux_socket: string | undefined,
  ): Promise<Source | undefined> {
    const { terminals, peers } = this.#needs;
    const own = sender.peer_id === null ? undefined : peers.get(sender.peer_id);
    const pane_id = source_pane ?? own?.pane_id;
    if (!pane_id) return undefined;
    const inOwn = pane_id === own?.pane_id ? own.tmux_socket : null;
    const socket = tmux_socket ?? inOwn ?? terminals.socket;
    const pane = await terminals.look(socket, pane_id);
    return pane && { socket, pane };
  }

  /** The circle that a pane's window is (contract 1); undefined where sessions bound circles. */
  async circleOf(socket: string, pane_id: string): Promise<string | undefined> {
    const { terminals, settings } = this.#needs;
    if (settings.circle_boundary !== "window") return undefined;
    const pane = await terminals.look(socket, pane_id);
    return pane && windowCircle(pane);
  }

  #circleOf(sender: { circle: string | null }, source: Source | undefined): string | undefined {
    if (this.#needs.settings.circle_boundary === "window") return undefined;
    const session = source?.pane.session;
    return sender.circle ??
      (session && /^[A-Za-z0-9._-]{1,64}$/.test(session) ? session : undefined);
  }

  /** Writes down what was launched; whoever has registered on the pane meanwhile is known. */
  enter(launched: Launched, manner: { proven_human: boolean }): Spawned {
    const { db } = this.#ground;
    const { asked, folder, circle, spawn_id, socket, pane, at } = launched;
    const { backend, message } = asked;
    const carried = this.#needs.reaches(backend);
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
      seed: message !== undefined && carried ? message : null,
      seed_from: launched.from,
      seed_human: manner.proven_human,
      seed_state: message === undefined
        ? null
        : carried
        ? "awaiting_registration"
        : "undeliverable",
      warnings: this.#warningsOf(asked, carried),
      created_at: at,
      settled_at: null,
    };
    return db.transact((tx) => {
      rows.insert(tx, spawn);
      this.#say(spawn);
      this.#match(spawn);
      return this.toAnswer(rows.get(db, spawn_id) ?? spawn);
    });
  }

  #warningsOf({ backend, message }: SpawnAsked, carried: boolean): string[] {
    const warnings: string[] = [];
    if (!this.#needs.registersItself(backend)) {
      warnings.push(`${backend} has no hooks here: it is known once the program itself registers`);
    }
    if (message !== undefined && !carried) {
      warnings.push(`Nothing here carries messages to ${backend}: the message was not kept`);
    }
    return warnings;
  }

  /** A spawn that was not written down is undone. */
  async undo({ socket, pane }: Launched): Promise<void> {
    await this.#needs.terminals.close(socket, pane.pane_id);
  }

  /** Who has registered; `over` when nobody is waited for any more. */
  look(spawn_id: string): { peer_id: string | null; over: boolean } {
    const spawn = rows.get(this.#ground.db, spawn_id);
    return { peer_id: spawn?.peer_id ?? null, over: spawn?.settled_at !== null };
  }

  /** Closes the pane that was opened with a mark, and never written down. */
  async sweep(mark: string, from_peer: string): Promise<void> {
    const { terminals, peers } = this.#needs;
    const sockets = new Set([terminals.socket, peers.get(from_peer)?.tmux_socket ?? ""]);
    for (const socket of [...sockets].filter(Boolean)) {
      const pane = await terminals.find(socket, mark);
      if (pane) await terminals.closeSame(socket, pane);
    }
  }

  /** Closes the pane of a spawn, where it holds what was started in it, and ends its agent. */
  async release(
    spawn_id: string,
    agent: { pid: number; started: string } | undefined,
  ): Promise<void> {
    const { db, clock, log } = this.#ground;
    const { terminals, processes, ending: signal } = this.#needs;
    const spawn = rows.get(db, spawn_id);
    if (!spawn || spawn.pane_pid === null) return;
    const { tmux_socket, pane_id, pane_pid, settled_at } = spawn;
    await terminals.closeSame(tmux_socket, { pane_id, pane_pid });
    if (settled_at === null) this.#giveUp(spawn);
    if (!agent) return;
    const waiting = { clock, signal, processes };
    if (await endsWithin(END_MS_MAX, agent, waiting)) return; // Its terminal hung up.
    const limits = { term_ms: END_MS_MAX, kill_ms: END_MS_MAX };
    const ended = await terminate(agent, { ...limits, ...waiting });
    signal.throwIfAborted();
    if (ended === "forbidden" || ended === "alive") {
      log.warn("A spawned agent did not end", { spawn_id, pid: agent.pid, why: ended });
    }
  }

  toAnswer(spawn: Spawn): Spawned {
    const { spawn_id, pane_id, tmux_socket, tmux_session, backend, path, peer_id } = spawn;
    const known = peer_id === null ? undefined : this.#needs.peers.get(peer_id)?.name;
    const { registration_state, seed_state, warnings, name } = spawn;
    const display_name = known ?? name ?? this.#needs.peers.nameOf(path, backend);
    const place = { pane_id, tmux_socket, tmux_session, display_name };
    return { ok: true, spawn_id, ...place, registration_state, seed_state, warnings };
  }

  /** What a spawn has come to since it was first answered. */
  again<A extends Spawned>(before: A): A {
    const spawn = rows.get(this.#ground.db, before.spawn_id);
    return spawn ? { ...before, ...this.toAnswer(spawn) } : before;
  }

  /** What was asked for the agent that registers on a pane of ours. */
  awaited({ pane_id, tmux_socket, backend }: Registration): Partial<Registration> | undefined {
    if (pane_id === undefined) return undefined;
    const spawn = rows.open(this.#ground.db).find((spawn) =>
      spawn.pane_id === pane_id && spawn.backend === backend &&
      (tmux_socket === undefined || tmux_socket === spawn.tmux_socket)
    );
    if (!spawn) return undefined;
    const { circle, role, name } = spawn;
    return { circle, role, tmux_socket: spawn.tmux_socket, ...(name && { name }) };
  }

  /** The profile that a peer was spawned with. */
  profileOf(peer_id: string): string | undefined {
    return rows.ofPeer(this.#ground.db, peer_id)?.profile ?? undefined;
  }

  /** After a start: those that registered while it was not noticed are known. */
  wakeUp(): void {
    for (const spawn of rows.open(this.#ground.db)) this.#match(spawn);
  }

  beat(now: number): void {
    const { db } = this.#ground;
    for (const spawn of rows.open(db)) {
      const age = now - spawn.created_at;
      if (age > LATE_MS_MAX) this.#giveUp(spawn);
      else if (age > REGISTER_MS_MAX && spawn.registration_state === "awaiting") this.#late(spawn);
    }
    if (this.#looking || now - this.#looked_at < LOOK_EVERY_MS) return;
    this.#looked_at = now;
    this.#looking = this.#lookAtPanes()
      .catch((fault) => this.#ground.log.error("A look at spawned panes failed", { fault }))
      .finally(() => this.#looking = undefined);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await this.#looking;
  }

  async #lookAtPanes(): Promise<void> {
    for (const spawn of rows.open(this.#ground.db)) {
      const gone = await this.#needs.terminals.isGone(spawn.tmux_socket, spawn.pane_id);
      if (!gone) await this.#needs.meet(spawn);
      const still = gone ? rows.get(this.#ground.db, spawn.spawn_id) : undefined;
      if (still?.settled_at === null) this.#giveUp(still);
    }
  }

  #match(spawn: Spawn): void {
    const peer = this.#needs.peers.onPane(spawn.pane_id, spawn.tmux_socket);
    if (!peer || peer.backend !== spawn.backend) return;
    if ((peer.last_seen ?? 0) < spawn.created_at) return;
    const { circle, role, name } = spawn; // It was quicker than the record of its spawn.
    this.#needs.peers.place(peer.peer_id, { circle, role, ...(name !== null && { name }) });
    this.#register(spawn, peer.peer_id);
  }

  #arrived(peer_id: string): void {
    const peer = this.#needs.peers.get(peer_id);
    if (!peer?.pane_id) return;
    const spawn = rows.open(this.#ground.db).find(({ pane_id, tmux_socket, backend }) =>
      pane_id === peer.pane_id && tmux_socket === peer.tmux_socket && backend === peer.backend
    );
    if (spawn) this.#register(spawn, peer_id);
  }

  /** The pane's agent is known: its seed goes into its queue in the same transaction. */
  #register(spawn: Spawn, peer_id: string): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => {
      const registration_state = spawnMachine.step(spawn.registration_state, "registered");
      const undeliverable = spawn.seed !== null && this.#hand(spawn, peer_id) !== undefined;
      const seed_state = undeliverable || spawn.seed_state === "undeliverable"
        ? "undeliverable" as const
        : null;
      const settled_at = clock.now();
      const now = { ...spawn, registration_state, peer_id, seed: null, seed_state, settled_at };
      rows.update(tx, now);
      this.#say(now);
    });
  }

  /** Undefined once the message is accepted for delivery; else why it was refused. */
  #hand({ seed, seed_from, seed_human }: Spawn, peer_id: string): string | undefined {
    const from_peer = seed_from ?? NOBODY;
    try {
      const note = { from_peer, to_peer: peer_id, text: seed ?? "" };
      this.#needs.notify(note, { proven_human: seed_human });
      return undefined;
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      this.#tellSender(from_peer, `Your message to a spawned agent was refused: ${refusal.code}`);
      return refusal.code;
    }
  }

  #late(spawn: Spawn): void {
    const { db } = this.#ground;
    db.transact((tx) => {
      const registration_state = spawnMachine.step(spawn.registration_state, "timed_out");
      const now = { ...spawn, registration_state };
      rows.update(tx, now);
      this.#say(now);
    });
  }

  /** Nobody will register on this pane any more; whoever left a message is told. */
  #giveUp(spawn: Spawn): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => {
      const kept = spawn.seed !== null;
      const seed_state = kept ? "undeliverable" as const : spawn.seed_state;
      const settled_at = clock.now();
      const state = { registration_state: "timed_out" as const, seed: null, seed_state };
      const now = { ...spawn, ...state, settled_at };
      rows.update(tx, now);
      this.#say(now);
      if (!kept) return;
      const what = `The agent of ${spawn.spawn_id} (${spawn.backend} in ${spawn.path})`;
      this.#tellSender(spawn.seed_from ?? NOBODY, `${what} never registered: your message is lost`);
    });
  }

  /** Only a registered peer can be told. */
  #tellSender(from_peer: string, text: string): void {
    const { peer_id } = this.#needs.peers.sender(from_peer);
    if (peer_id === null) return;
    try {
      const note = { from_peer: DAEMON, to_peer: peer_id, text };
      this.#needs.notify(note, { proven_human: false });
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      this.#ground.log.info("A sender could not be told", { peer_id, code: refusal.code });
    }
  }

  #say({ spawn_id, backend, circle, pane_id, peer_id, registration_state, seed_state }: Spawn) {
    const where = { spawn_id, backend, circle, pane_id, peer_id };
    this.#ground.events.append("spawn", { ...where, registration_state, seed_state });
  }
}

/** The circle of a tmux window: `@7` is `window-7`. */
function windowCircle({ window }: Pane): string {
  return `window-${window.slice(1)}`;
}
