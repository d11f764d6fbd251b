/** The peers desk: who comes, who goes, who is retired. Every change to a peer happens here. */

import type { Ground } from "kit/data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { Problem } from "kit/core/problem.ts";
import type { Addressee, Sighting } from "../agents/adapter.ts";
import type { Address, Chat, Offline, Provenance, Registration, Role, Turn } from "./contract.ts";
import { type Directory, isLive } from "./directory.ts";
import type { Replaced } from "./superseded.ts";
import { Watch } from "./process_watcher.ts";
import { type PeerEvent, peerMachine } from "./machine.ts";
import {
  Admission,
  type Awaited,
  type Entrance,
  freeName,
  type Processes,
  provenanceOf,
  refuseReserved,
  refuseSecondHuman,
} from "./registration.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** What the rest of the house does when a peer's life changes; inside of the same transaction. */
export interface Reactions {
  /** Its asks are closed and its queue is dropped; how many of each. */
  unreachable(peer: Address, why: "peer_retired" | "peer_not_addressable"): {
    closed_asks: number;
    dropped_deliveries: number;
  };
  /** The kernel has shown that this process is a peer's. */
  proved(process: Pick<StoredPeer, "agent_pid" | "agent_started">): void;
  prompted(peer_id: string, prompt: string): void;
  /** A turn of it has ended with this message. */
  answered(peer_id: string, last_message: string): void;
  /** Something changed that may let waiting messages through. */
  changed(peer_id: string): void;
  /** It has gone offline: nothing goes through until it is heard of again. */
  lost(peer_id: string): void;
  /** Its record has changed, which it may want to know. */
  updated(peer_id: string): void;
  sever(peer_id: string, why: "peer_retired" | "going_away"): void;
}

export interface PeersNeeds {
  readonly directory: Directory;
  readonly processes: Processes;
  readonly reactions: Reactions;
  readonly replaced: Replaced;
  /** The name of this machine. */
  readonly machine: string;
  readonly awaited: Awaited;
  /** Whether this process speaks for an execution that a restart is replacing just now. */
  isReplaced(peer_id: string, agent_pid: number | null): boolean;
}

export class Peers {
  readonly #ground: Ground;
  readonly #needs: PeersNeeds;
  readonly #admission: Admission;
  readonly #watch: Watch;

  constructor(ground: Ground, needs: PeersNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    const { processes, machine, directory } = needs;
    this.#admission = new Admission(ground, {
      processes,
      machine,
      connected: (peer_id) => directory.connected(peer_id),
    });
    this.#watch = new Watch(ground, needs, this);
  }

  /** Registers a peer, or brings back the one that this is (contract 3). */
  register(given: Registration, came: Entrance = {}): StoredPeer {
    return this.admit(given, came).peer;
  }

  /** The same, and whether it is new or has proved to be the one that it comes back as. */
  admit(given: Registration, came: Entrance): { peer: StoredPeer; proved: boolean } {
    const { db, events } = this.#ground;
    const { registration, entrance } = this.#needs.awaited(given, came);
    return db.transact((tx) => {
      const before = this.#admission.identify(registration, entrance);
      if (registration.name && !entrance.reserved_names) {
        refuseReserved(db, registration.name, before?.peer_id);
      }
      const proved = !before || entrance.certificate !== undefined ||
        entrance.proven_peer_id === before.peer_id ||
        this.#admission.isProcessOf(before, entrance);
      if (before && this.#isReplaced(before, registration.agent_pid ?? null)) {
        return { peer: before, proved };
      }
      const peer = before
        ? this.#admission.renewed(before, registration, entrance)
        : this.#admission.born(registration, entrance);
      if (peer.role === "human") refuseSecondHuman(db, before?.peer_id);
      this.#takePane(tx, peer);
      if (before) rows.update(tx, peer);
      else rows.insert(tx, peer);
      if (peer.agent_proved) this.#needs.reactions.proved(peer);
      const { peer_id, name, circle, backend, role } = peer;
      const back = !before || before.status === "offline" || before.status === "retired" ||
        before.dropped_at !== null;
      if (back) events.append("peer_registered", { peer_id, name, circle, backend, role });
      else this.#sayUpdated(peer);
      if (before?.addressable && !peer.addressable) this.#loseAddress(peer);
      this.#needs.directory.touch(peer_id);
      db.afterCommit(() => this.#needs.reactions.changed(peer_id));
      return { peer, proved };
    });
  }

  /** Evidence that a peer is here: a socket, its process, a touch. */
  sighted(peer_id: string, transport: string): void {
    const known = this.#mustGet(peer_id);
    if (this.#isReplaced(known, known.agent_pid)) return;
    this.#change(peer_id, "sighted", (before, peer) => {
      this.#needs.directory.touch(peer_id);
      const seen = { ...peer, status_by: transport, status_at: this.#ground.clock.now() };
      if (before.status !== "offline") return seen;
      const name = freeName(this.#ground.db, { name: peer.name, circle: peer.circle, peer_id });
      this.#ground.events.append("peer_online", { peer_id, name, transport });
      this.#ground.db.afterCommit(() => this.#needs.reactions.changed(peer_id));
      return { ...seen, name, offline_reason: null };
    });
  }

  touch(peer_id: string): void {
    this.#refuseRetired(peer_id);
    this.sighted(peer_id, "none");
  }

  /** Plain offline, or terminal: retired, its line severed, its asks closed. */
  offline(peer_id: string, cause: Offline): void {
    if (this.#isStale(peer_id, cause)) return;
    this.#refuseHuman(peer_id);
    if (cause.terminal) return this.#retire(peer_id, cause, { closed: false });
    this.#refuseRetired(peer_id);
    this.#change(peer_id, "lost", (before, peer) => {
      if (before.status !== "offline") this.#sayOffline(peer, cause);
      this.#ground.db.afterCommit(() => this.#needs.reactions.lost(peer_id));
      return this.#gone(peer, cause);
    });
  }

  /** Closed by the operator: removed, and never reclaimed. */
  close(peer_id: string): void {
    const { db, events } = this.#ground;
    db.transact(() => {
      this.#refuseHuman(peer_id);
      const { name } = this.#mustGet(peer_id);
      this.#retire(peer_id, { reason: "closed", source: "operator" }, { closed: true });
      events.append("peer_removed", { peer_id, name });
      db.afterCommit(() => this.#needs.replaced.forget(peer_id));
    });
  }

  /** Drops a registration; the record sleeps until the same session registers again. */
  unregister(peer_id: string): void {
    const { db, events, clock } = this.#ground;
    db.transact((tx) => {
      this.offline(peer_id, { reason: "unregistered", source: "peer", terminal: false });
      const peer = this.#mustGet(peer_id);
      rows.update(tx, { ...peer, dropped_at: clock.now() });
      events.append("peer_removed", { peer_id, name: peer.name });
      db.afterCommit(() => this.#needs.reactions.sever(peer_id, "going_away"));
    });
  }

  /** What it says of itself is a sign of life. */
  describe(peer_id: string, description: string): void {
    this.touch(peer_id);
    this.#update(peer_id, (peer) => ({
      ...peer,
      description: description === "" ? null : description,
      described_at: this.#ground.clock.now(),
    }));
  }

  rename(peer_id: string, name: string): void {
    this.#refuseHuman(peer_id);
    refuseReserved(this.#ground.db, name, peer_id);
    this.place(peer_id, { name });
  }

  /** Gives a peer what it was asked to be, and did not know of when it registered. */
  place(peer_id: string, asked: Partial<Pick<StoredPeer, "name" | "circle" | "role">>): void {
    this.#update(peer_id, (peer) => {
      const placed = { ...peer, ...asked };
      return { ...placed, name: freeName(this.#ground.db, placed) };
    });
  }

  /** Gives a peer a role; a live orchestrator gives way only to `force` (contract 3). */
  assume(peer_id: string, { role, force }: { role: Exclude<Role, "human">; force: boolean }): void {
    const { db } = this.#ground;
    db.transact((tx) => {
      this.#refuseRetired(peer_id);
      this.#refuseHuman(peer_id);
      const { circle } = this.#mustGet(peer_id);
      const others = role === "orchestrator" ? rows.orchestrators(db, circle) : [];
      for (const other of others.filter((other) => other.peer_id !== peer_id)) {
        const { peer_id: present, name } = other;
        if (isLive(other) && !force) {
          throw new Problem("orchestrator_present", { peer_id: present, name });
        }
        rows.update(tx, { ...this.#mustGet(present), role: "agent" });
        if (other.dropped_at === null) this.#sayUpdated({ peer_id: present, name });
      }
      this.#update(peer_id, (peer) => ({ ...peer, role }));
    });
  }

  /** Replaces all provenance of a live peer; losing addressability clears its table. */
  prove(peer_id: string, provenance: Provenance): void {
    const { db } = this.#ground;
    db.transact((tx) => {
      const before = this.#mustGet(peer_id);
      if (!isLive(before)) throw new Problem("unknown_peer", { peer: peer_id });
      const peer = { ...before, ...provenanceOf(provenance, before) };
      rows.update(tx, peer);
      this.#sayUpdated(peer);
      if (before.addressable && !peer.addressable) this.#loseAddress(peer);
    });
  }

  /** What a hook saw of a turn (contract 3). */
  turn(peer_id: string, turn: Turn, by = "hook"): void {
    this.#refuseRetired(peer_id);
    const { db, clock } = this.#ground;
    const { turn_state, status, model, prompt, last_message } = turn;
    db.transact(() => {
      const busy = status ? status === "busy" : turn_state === "working";
      const on: PeerEvent = busy ? "turn_started" : "turn_ended";
      if (this.#mustGet(peer_id).status === "offline") this.sighted(peer_id, by);
      const here = this.#mustGet(peer_id).status !== "offline"; // Not where it is being replaced.
      if (here && (status || turn_state || model)) {
        this.#change(peer_id, status || turn_state ? on : "sighted", (_, peer) => ({
          ...peer,
          turn_state: turn_state ?? peer.turn_state,
          turn_at: turn_state ? clock.now() : peer.turn_at,
          turn_by: turn_state ? by : peer.turn_by,
          status_by: by,
          status_at: clock.now(),
          model: model ?? peer.model,
        }));
      }
      if (prompt !== undefined) this.#needs.reactions.prompted(peer_id, prompt);
      if (last_message !== undefined) this.#needs.reactions.answered(peer_id, last_message);
      this.#needs.directory.touch(peer_id);
      db.afterCommit(() => this.#needs.reactions.changed(peer_id));
    });
  }

  /** What was said in a turn: told without its text, and believed as a proof of what it holds. */
  chat(peer_id: string, { role, text, turn_id }: Chat): void {
    const { db, events } = this.#ground;
    db.transact(() => {
      this.turn(peer_id, role === "user" ? { prompt: text } : { last_message: text });
      events.append("chat_turn", { peer_id, role, turn_id: turn_id ?? null });
    });
  }

  delivered(peer_id: string): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => rows.delivered(tx, peer_id, clock.now()));
  }

  /** What was seen of a peer from outside, while it was as it is on the record now. */
  observed(seen: Addressee, { alive, turn_state, model, source, at }: Sighting): void {
    const { db, clock } = this.#ground;
    const { peer_id } = seen;
    const isNews = turn_state !== null && turn_state !== seen.turn_state;
    if (alive && model === undefined && !isNews) return;
    db.transact(() => {
      const now = rows.get(db, peer_id);
      if (!now || !isLive(now) || now.machine !== this.#needs.machine) return;
      if (now.agent_started !== seen.agent_started || now.pane_id !== seen.pane_id) return;
      if (!alive) {
        if (this.#needs.directory.connected(peer_id)) return;
        return this.offline(peer_id, { reason: "agent_exited", source, terminal: false });
      }
      if (model !== undefined && model !== now.model) {
        this.#change(peer_id, "sighted", (_, peer) => ({ ...peer, model }));
      }
      if (turn_state === null || turn_state === now.turn_state) return;
      this.#change(peer_id, turn_state === "working" ? "turn_started" : "turn_ended", (_, peer) => {
        return { ...peer, turn_state, turn_at: at ?? clock.now(), turn_by: source };
      });
      db.afterCommit(() => this.#needs.reactions.changed(peer_id));
    });
  }

  /** After a start: nobody is believed to be here without evidence. */
  wakeUp(): void {
    this.#watch.wakeUp();
  }

  /** Once a second: signs of life are written down, and who is gone goes offline. */
  beat(now: number): void {
    this.#watch.beat(now);
  }

  /** One pane, one agent: whoever was registered on it is there no more (specification 3). */
  #takePane(tx: Tx, peer: StoredPeer): void {
    if (peer.pane_id === null) return;
    const { peer_id } = peer;
    const cause = { reason: "pane_takeover", source: "registration", detail: peer_id };
    for (const other of rows.recordedOn(tx, peer)) {
      if (other.peer_id === peer_id) continue;
      if (isLive(other)) this.offline(other.peer_id, { ...cause, terminal: false });
      rows.update(tx, { ...this.#mustGet(other.peer_id), pane_id: null });
    }
  }

  /** The end of an execution that a restart replaced is none of the peer's (specification 3). */
  #isStale(peer_id: string, cause: Offline): boolean {
    const restart_id = this.#needs.replaced.matches(cause);
    if (restart_id === undefined) return false;
    const { db, events } = this.#ground;
    db.transact(() => events.append("peer_restart_offline_ignored", { restart_id, peer_id }));
    return true;
  }

  /** What such a process says of being here is not believed. */
  #isReplaced({ peer_id, status }: StoredPeer, agent_pid: number | null): boolean {
    return status === "offline" && this.#needs.isReplaced(peer_id, agent_pid);
  }

  /** The human is always here: nobody else ends or renames it (contract 2). */
  #refuseHuman(peer_id: string): void {
    if (this.#mustGet(peer_id).role === "human") throw new Problem("role_fixed", { peer_id });
  }

  #refuseRetired(peer_id: string): void {
    if (this.#mustGet(peer_id).status === "retired") throw new Problem("peer_retired", { peer_id });
  }

  #retire(peer_id: string, cause: Omit<Offline, "terminal">, { closed }: { closed: boolean }) {
    const { db, events } = this.#ground;
    this.#change(peer_id, "retired", (before, peer) => {
      this.#needs.reactions.unreachable(this.#mustAddress(peer_id), "peer_retired");
      if (before.status !== "retired") {
        this.#sayOffline(peer, { ...cause, terminal: true });
        events.append("peer_retired", { peer_id, name: peer.name });
      }
      db.afterCommit(() => this.#needs.reactions.sever(peer_id, "peer_retired"));
      return { ...this.#gone(peer, cause), closed: peer.closed || closed };
    });
  }

  #gone(peer: StoredPeer, { reason, source }: Omit<Offline, "terminal">): StoredPeer {
    const why = { offline_reason: reason ?? null, status_by: source ?? null };
    const turn = { turn_state: null, turn_at: null, turn_by: null };
    return { ...peer, ...turn, ...why, status_at: this.#ground.clock.now() };
  }

  #loseAddress(peer: StoredPeer): void {
    const { peer_id, addressable_reason } = peer;
    const why = "peer_not_addressable";
    const counts = this.#needs.reactions.unreachable(this.#mustAddress(peer_id), why);
    this.#ground.events.append(why, { peer_id, ...counts, addressable_reason });
  }

  #sayOffline({ peer_id, name }: StoredPeer, cause: Offline): void {
    this.#ground.events.append("peer_offline", {
      peer_id,
      name,
      reason: cause.reason ?? null,
      source: cause.source ?? null,
      detail: cause.detail ?? null,
      terminal: cause.terminal,
    });
  }

  #sayUpdated({ peer_id, name }: Pick<StoredPeer, "peer_id" | "name">): void {
    const { db, events } = this.#ground;
    events.append("peer_updated", { peer_id, name });
    db.afterCommit(() => this.#needs.reactions.updated(peer_id));
  }

  /** Changes what is said of a peer, and neither its status nor its signs of life. */
  #update(peer_id: string, change: (peer: StoredPeer) => StoredPeer): void {
    const { db } = this.#ground;
    db.transact((tx) => {
      this.#refuseRetired(peer_id);
      const peer = change(this.#mustGet(peer_id));
      rows.update(tx, peer);
      this.#sayUpdated(peer);
    });
  }

  /** Reads, steps, writes: one peer, one transaction. */
  #change(
    peer_id: string,
    on: PeerEvent,
    work: (before: StoredPeer, peer: StoredPeer) => StoredPeer,
  ): void {
    const { db } = this.#ground;
    db.transact((tx) => {
      const before = this.#mustGet(peer_id);
      const status = peerMachine.step(before.status, on);
      rows.update(tx, work(before, { ...before, status }));
    });
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ground.db, peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }

  #mustAddress(peer_id: string): Address {
    const address = rows.address(this.#ground.db, peer_id);
    if (!address) throw new Problem("unknown_peer", { peer: peer_id });
    return address;
  }
}
