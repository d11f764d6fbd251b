/** Follows a spawn until its agent registers, and then delivers its message, or abandons it. */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { recoverableProblem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import type { AgentPeer } from "../agents/adapter.ts";
import { definitionOf } from "../agents/registry.ts";
import { isAtDialog } from "../lifecycle/linking.ts";
import { BY_SCREEN } from "../peers/waits.ts";
import { REGISTRATION } from "../peers/registration.ts";
import * as peerRows from "../peers/store.ts";
import type { SpawnDeps } from "./deps.ts";
import { SpawnWaits } from "./spawn_waits.ts";
import { spawnMachine } from "./states.ts";
import * as rows from "./store.ts";
import type { Spawn } from "./store.ts";

/** Time after which a spawn without a registration is reported as `timed_out`. */
const REGISTER_MS_MAX = 5 * 60_000;
/** Time for which a late registration is expected: a person may have to answer a dialog. */
const LATE_MS_MAX = 24 * 3_600_000;
/** Interval between two looks at the panes of late spawns. Others are looked at in each tick. */
const LATE_CHECK_INTERVAL_MS = 10_000;
/** Time for which a silent agent that has drawn its prompt may still open its first dialog. */
const FIRST_DIALOG_MS_MAX = 60_000;

export class SpawnRegistrations {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  #checking: Promise<void> | undefined;
  readonly #ages: Ages;
  #lateCheckedAt = Number.NEGATIVE_INFINITY;
  /** The silent agents that have registered, each with the time until which it is looked at. */
  readonly #started = new Map<string, number>();
  readonly waits: SpawnWaits;

  constructor(ctx: Context, deps: SpawnDeps) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#deps = deps;
    this.waits = new SpawnWaits(ctx, deps);
  }

  /** Stores a new spawn. Its agent may already have registered. */
  add(spawn: Spawn): void {
    this.#ages.of(spawn.spawn_id, spawn.created_at);
    this.#ctx.db.transact((tx) => {
      rows.insert(tx, spawn);
      this.#publish(spawn);
      this.#matchRegistered(spawn);
    });
  }

  /** Called after a start. Finds agents whose registration was not yet matched with their spawn. */
  start(): void {
    this.waits.start();
    for (const spawn of rows.open(this.#ctx.db)) this.#matchRegistered(spawn);
  }

  tick(): void {
    for (const spawn of rows.open(this.#ctx.db)) {
      const age = this.#ages.of(spawn.spawn_id, spawn.created_at);
      if (age > LATE_MS_MAX) this.abandon(spawn);
      else if (age > REGISTER_MS_MAX && spawn.registration_state === "awaiting") {
        const registration_state = spawnMachine.step(spawn.registration_state, "timed_out");
        this.#update({ ...spawn, registration_state });
        this.waits.late(spawn);
      }
    }
    this.waits.tick();
    if (this.#checking) return;
    const checking = this.#checkPanes().finally(() => this.#checking = undefined);
    this.#checking = this.#ctx.background.run("The panes of spawns were not checked", checking);
  }

  /** Waits for the running check of panes. */
  async close(): Promise<void> {
    await this.#checking;
  }

  /** Stops waiting for a registration; notifies the sender if the spawn's message is dropped. */
  abandon(spawn: Spawn): void {
    this.#ctx.db.transact(() => {
      const hadSeed = spawn.seed !== null;
      this.#update({
        ...spawn,
        registration_state: "timed_out",
        seed: null,
        seed_state: hadSeed ? "undeliverable" : spawn.seed_state,
        settled_at: this.#ctx.clock.now(),
      });
      this.waits.end(spawn.spawn_id);
      if (!hadSeed) return;
      const { spawn_id, backend, path, seed_from } = spawn;
      const agent = `The agent of ${spawn_id} (${backend} in ${path})`;
      const text = `${agent} never registered. Your message to it was dropped.`;
      this.#notifySender(seed_from ?? ANONYMOUS_SENDER, text);
    });
  }

  async #checkPanes(): Promise<void> {
    for (const spawn of this.#toCheck()) {
      const gone = await this.#deps.terminals.isGone(spawn.tmux_socket, spawn.pane_id);
      if (!gone) await this.#deps.effects.silent(spawn);
      const current = rows.get(this.#ctx.db, spawn.spawn_id);
      if (current?.settled_at !== null) continue;
      if (gone) this.abandon(current);
      else await this.waits.look(current);
    }
    for (const peer_id of [...this.#started.keys()]) await this.#checkStart(peer_id);
    for (const peer of this.#atFirstDialog()) await this.#checkDialog(peer);
  }

  /** Codex draws its prompt, with which it is registered, before it asks about hooks. */
  async #checkStart(peer_id: string): Promise<void> {
    const { agentPeers, transports, turns, waits } = this.#deps;
    const peer = agentPeers.find(peer_id);
    const spawn = rows.ofPeer(this.#ctx.db, peer_id);
    const isOver = this.#ctx.clock.monotonic() > (this.#started.get(peer_id) ?? 0);
    if (isOver || !spawn || peer?.turn_state !== null) return void this.#started.delete(peer_id);
    const dialog = (await transports.probe(peer)).find(isAtDialog);
    if (!dialog || agentPeers.find(peer_id)?.turn_state !== null) return;
    turns.applyObservation(peer, {
      alive: true,
      turn_state: "awaiting_input",
      source: REGISTRATION,
    });
    if (dialog.waits_for) waits.report(peer_id, dialog.waits_for, BY_SCREEN);
    this.waits.registered(spawn, peer_id);
  }

  /** The spawns whose panes are looked at now. */
  #toCheck(): Spawn[] {
    const monotonic = this.#ctx.clock.monotonic();
    const includesLate = monotonic - this.#lateCheckedAt >= LATE_CHECK_INTERVAL_MS;
    if (includesLate) this.#lateCheckedAt = monotonic;
    return rows.open(this.#ctx.db)
      .filter(({ registration_state }) => includesLate || registration_state === "awaiting");
  }

  /** The spawned agents that were registered while they waited at a dialog. */
  #atFirstDialog(): AgentPeer[] {
    const { db } = this.#ctx;
    return this.#deps.agentPeers.reachable().filter(({ peer_id, turn_state }) =>
      turn_state === "awaiting_input" && rows.ofPeer(db, peer_id) !== undefined &&
      peerRows.get(db, peer_id)?.turn_by === REGISTRATION
    );
  }

  /** The agent is idle once its dialog was answered, if its hooks have not reported it. */
  async #checkDialog(peer: AgentPeer): Promise<void> {
    // The present state must not count as evidence of a dialog.
    const probes = await this.#deps.transports.probe({ ...peer, turn_state: null });
    const dialog = probes.find(isAtDialog);
    if (dialog?.waits_for) this.#deps.waits.report(peer.peer_id, dialog.waits_for, BY_SCREEN);
    if (dialog) return;
    const isUnchanged = this.#atFirstDialog().some(({ peer_id }) => peer_id === peer.peer_id);
    const seen = { alive: true, turn_state: "idle", source: "screen" } as const;
    if (isUnchanged) this.#deps.turns.applyObservation(peer, seen);
  }

  /** Matches a spawn with an agent that registered before the spawn was stored. */
  #matchRegistered(spawn: Spawn): void {
    const [peer] = peerRows.byPane(this.#ctx.db, spawn.pane_id, spawn.tmux_socket);
    if (!peer || peer.backend !== spawn.backend) return;
    if ((peer.last_seen ?? 0) < spawn.created_at) return;
    const { circle, role, name } = spawn;
    this.#deps.profiles.reassign(peer.peer_id, { circle, role, ...(name !== null && { name }) });
    this.#register(spawn, peer.peer_id);
  }

  /** Called when a peer has registered or its record has changed. Finds the spawn of its agent. */
  peerSeen(peer_id: string): void {
    const peer = this.#deps.agentPeers.getRecord(peer_id);
    if (!peer?.pane_id) return;
    const spawn = rows.open(this.#ctx.db).find(({ pane_id, tmux_socket, backend }) =>
      pane_id === peer.pane_id && tmux_socket === peer.tmux_socket && backend === peer.backend
    );
    if (spawn) this.#register(spawn, peer_id);
  }

  /** Stores the registration, and queues the spawn's message in the same transaction. */
  #register(spawn: Spawn, peer_id: string): void {
    this.#ctx.db.transact(() => {
      const isRefused = spawn.seed !== null && !this.#sendSeed(spawn, spawn.seed, peer_id);
      this.#update({
        ...spawn,
        registration_state: spawnMachine.step(spawn.registration_state, "registered"),
        peer_id,
        seed: null,
        seed_state: isRefused || spawn.seed_state === "undeliverable" ? "undeliverable" : null,
        settled_at: this.#ctx.clock.now(),
      });
      this.waits.registered(spawn, peer_id);
      const isSilent = definitionOf(spawn.backend)?.silent_until_prompt ?? false;
      // The conversation of a resumed session may look like a dialog.
      if (!isSilent || spawn.resumed_session !== null) return;
      this.#started.set(peer_id, this.#ctx.clock.monotonic() + FIRST_DIALOG_MS_MAX);
    });
  }

  /** Sends the spawn's message. Returns whether it was accepted for delivery. */
  #sendSeed(
    { seed_from, seed_human: proven_human, seed_unverified: unverified, spawn_id }: Spawn,
    text: string,
    peer_id: string,
  ): boolean {
    const from_peer = seed_from ?? ANONYMOUS_SENDER;
    try {
      const note = { from_peer, to_peer: peer_id, text };
      const caused_by = spawn_id;
      this.#deps.notifications.notify(note, { proven_human, unverified, caused_by });
      return true;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#notifySender(from_peer, `Your message to a spawned agent was refused: ${refusal.code}`);
      return false;
    }
  }

  /** Notifies the sender of the spawn's message, if that is a registered peer. */
  #notifySender(from_peer: string, text: string): void {
    const { peer_id } = this.#deps.directory.sender(from_peer);
    if (peer_id === null) return;
    this.#deps.notifications.tryNotifyFromDaemon(peer_id, text, { notice: false });
  }

  #update(spawn: Spawn): void {
    this.#ctx.db.transact((tx) => {
      rows.update(tx, spawn);
      this.#publish(spawn);
    });
  }

  #publish(spawn: Spawn): void {
    const { spawn_id, backend, circle, pane_id, peer_id, registration_state, seed_state } = spawn;
    const ids = { spawn_id, pane_id, peer_id };
    this.#ctx.events.append("spawn", { ...ids, backend, circle, registration_state, seed_state });
    if (peer_id === null) return;
    this.#deps.leases.registered(spawn_id, peer_id);
    this.#ctx.db.afterCommit(() => this.#deps.effects.registered(spawn_id, peer_id));
  }
}
