/** The peers desk: who comes, who goes, who is retired. Every change to a peer happens here. */

import type { Ground } from "kit/ground.ts";
import { Problem } from "kit/problem.ts";
import type { Addressee } from "../agents/contract.ts";
import type { Address, Chat, Offline, Provenance, Registration, Turn } from "./contract.ts";
import type { Directory } from "./directory.ts";
import { type PeerEvent, peerMachine } from "./machine.ts";
import {
  Admission,
  type Entrance,
  freeName,
  type Processes,
  provenanceOf,
  refuseReserved,
} from "./admission.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** How long a peer that nothing reaches counts as here after its last sign (contract 2). */
const UNSEEN_MS_MAX = 10 * 60_000;

/** What the rest of the house does when a peer's life changes; inside of the same transaction. */
export interface Reactions {
  /** Its asks are closed and its queue is dropped; how many of each. */
  unreachable(peer: Address, why: "peer_retired" | "peer_not_addressable"): {
    closed_asks: number;
    dropped_deliveries: number;
  };
  prompted(peer_id: string, prompt: string): void;
  /** Something changed that may let waiting messages through. */
  changed(peer_id: string): void;
  sever(peer_id: string, why: "peer_retired" | "going_away"): void;
}

export interface PeersNeeds {
  readonly directory: Directory;
  readonly processes: Processes;
  readonly reactions: Reactions;
  /** The name of this machine. */
  readonly machine: string;
}

export class Peers {
  readonly #ground: Ground;
  readonly #needs: PeersNeeds;
  readonly #admission: Admission;

  constructor(ground: Ground, needs: PeersNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    const { processes, machine, directory } = needs;
    this.#admission = new Admission(ground, {
      processes,
      machine,
      connected: (peer_id) => directory.connected(peer_id),
    });
  }

  /** Registers the human that the configuration names, once; a new name renames it. */
  welcomeHuman(name: string, path: string): void {
    const { db } = this.#ground;
    db.transact(() => {
      const human = rows.human(db);
      const entrance = { reserved_names: true, proven_peer_id: human?.peer_id };
      const role = "human" as const;
      const known = human && { peer_id: human.peer_id };
      this.register({ ...known, name, path, role, backend: "sdk", circle: "default" }, entrance);
    });
  }

  /** Registers a peer, or brings back the one that this is (contract 3). */
  register(registration: Registration, entrance: Entrance = {}): StoredPeer {
    const { db, events } = this.#ground;
    if (registration.name && !entrance.reserved_names) refuseReserved(registration.name);
    return db.transact(() => {
      const before = this.#admission.identify(registration, entrance);
      const peer = before
        ? this.#admission.renewed(before, registration)
        : this.#admission.born(registration);
      if (peer.role === "human") this.#refuseSecondHuman(before?.peer_id);
      this.#takePane(peer);
      if (before) rows.update(db, peer);
      else rows.insert(db, peer);
      const { peer_id, name, circle, backend, role } = peer;
      const back = !before || before.status === "offline" || before.status === "retired" ||
        before.dropped_at !== null;
      if (back) events.append("peer_registered", { peer_id, name, circle, backend, role });
      else events.append("peer_updated", { peer_id, name });
      if (before?.addressable && !peer.addressable) this.#loseAddress(peer);
      this.#needs.directory.touch(peer_id);
      db.afterCommit(() => this.#needs.reactions.changed(peer_id));
      return peer;
    });
  }

  /** Evidence that a peer is here: a socket, its process, a touch. */
  sighted(peer_id: string, transport: string): void {
    this.#change(peer_id, "sighted", (before, peer) => {
      this.#needs.directory.touch(peer_id);
      if (before.status !== "offline") return peer;
      const name = freeName(this.#ground.db, { name: peer.name, circle: peer.circle, peer_id });
      this.#ground.events.append("peer_online", { peer_id, name, transport });
      return { ...peer, name, offline_reason: null };
    });
  }

  touch(peer_id: string): void {
    this.#refuseRetired(peer_id);
    this.sighted(peer_id, "none");
  }

  /** Plain offline, or terminal: retired, its line severed, its asks closed. */
  offline(peer_id: string, cause: Offline): void {
    if (cause.terminal) return this.#retire(peer_id, cause, { closed: false });
    this.#refuseRetired(peer_id);
    this.#change(peer_id, "lost", (before, peer) => {
      if (before.status !== "offline") this.#sayOffline(peer, cause);
      return { ...peer, turn_state: null, turn_at: null, offline_reason: cause.reason ?? null };
    });
  }

  /** Closed by the operator: removed, and never reclaimed. */
  close(peer_id: string): void {
    const { db, events } = this.#ground;
    db.transact(() => {
      const { name } = this.#mustGet(peer_id);
      this.#retire(peer_id, { reason: "closed", source: "operator" }, { closed: true });
      events.append("peer_removed", { peer_id, name });
    });
  }

  /** Drops a registration; the record sleeps until the same session registers again. */
  unregister(peer_id: string): void {
    const { db, events, clock } = this.#ground;
    db.transact(() => {
      this.offline(peer_id, { reason: "unregistered", source: "peer", terminal: false });
      const peer = this.#mustGet(peer_id);
      rows.update(db, { ...peer, dropped_at: clock.now() });
      events.append("peer_removed", { peer_id, name: peer.name });
      db.afterCommit(() => this.#needs.reactions.sever(peer_id, "going_away"));
    });
  }

  describe(peer_id: string, description: string): void {
    this.#update(peer_id, (peer) => ({
      ...peer,
      description: description === "" ? null : description,
      described_at: this.#ground.clock.now(),
    }));
  }

  rename(peer_id: string, name: string): void {
    refuseReserved(name);
    this.#update(peer_id, (peer) => {
      const free = freeName(this.#ground.db, { name, circle: peer.circle, peer_id });
      return { ...peer, name: free };
    });
  }

  /** Replaces all provenance of a live peer; losing addressability clears its table. */
  prove(peer_id: string, provenance: Provenance): void {
    const { db, events } = this.#ground;
    db.transact(() => {
      const before = this.#mustGet(peer_id);
      if (before.status !== "online" && before.status !== "busy") {
        throw new Problem("unknown_peer", { peer: peer_id });
      }
      const peer = { ...before, ...provenanceOf(provenance, before) };
      rows.update(db, peer);
      events.append("peer_updated", { peer_id, name: peer.name });
      if (before.addressable && !peer.addressable) this.#loseAddress(peer);
    });
  }

  /** What a hook saw of a turn (contract 3). */
  turn(peer_id: string, turn: Turn): void {
    this.#refuseRetired(peer_id);
    const { db, clock } = this.#ground;
    const { turn_state, status, model, prompt } = turn;
    db.transact(() => {
      const busy = status ? status === "busy" : turn_state === "working";
      const on: PeerEvent = busy ? "turn_started" : "turn_ended";
      if (this.#mustGet(peer_id).status === "offline") this.sighted(peer_id, "hook");
      if (status || turn_state || model) {
        this.#change(peer_id, status || turn_state ? on : "sighted", (_, peer) => ({
          ...peer,
          turn_state: turn_state ?? peer.turn_state,
          turn_at: turn_state ? clock.now() : peer.turn_at,
          model: model ?? peer.model,
        }));
      }
      if (prompt !== undefined) this.#needs.reactions.prompted(peer_id, prompt);
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
    db.transact(() => rows.delivered(db, peer_id, clock.now()));
  }

  /** A turn state that was seen from outside, of a peer that is still here. */
  observed(peer_id: string, turn_state: Addressee["turn_state"]): void {
    const { db, clock } = this.#ground;
    const working = turn_state === "working";
    db.transact(() => {
      if (!this.addressee(peer_id)) return;
      this.#change(peer_id, working ? "turn_started" : "turn_ended", (_, peer) => {
        return { ...peer, turn_state, turn_at: clock.now() };
      });
      db.afterCommit(() => this.#needs.reactions.changed(peer_id));
    });
  }

  /** Offline, because nobody has seen them: agents without a process of their own. */
  unseen(): Addressee[] {
    return rows.unseen(this.#ground.db).map(addresseeOf);
  }

  /** Everyone that a rung could reach. */
  addressees(): Addressee[] {
    return rows.alive(this.#ground.db).flatMap((peer) => toAddressee(peer) ?? []);
  }

  /** Where a peer is, for the rungs; undefined when it is none that a rung could reach. */
  addressee(peer_id: string): Addressee | undefined {
    const peer = rows.get(this.#ground.db, peer_id);
    return peer && toAddressee(peer);
  }

  /** After a start nothing is known: every live peer is offline until there is evidence. */
  wakeUp(): void {
    const { db } = this.#ground;
    db.transact(() => {
      for (const peer of rows.alive(db)) {
        if (peer.role === "human") continue;
        this.offline(peer.peer_id, {
          reason: "daemon_restart",
          source: "daemon",
          terminal: false,
        });
        if (this.#running(peer)) this.sighted(peer.peer_id, "process");
      }
    });
  }

  /** Once a second: writes down signs of life, takes offline who is gone. */
  beat(now: number): void {
    const { db } = this.#ground;
    const { directory } = this.#needs;
    db.transact(() => {
      for (const [peer_id, at] of directory.takeTouched()) rows.touched(db, peer_id, at);
      for (const peer of rows.alive(db)) this.#check(peer, now);
    });
  }

  #check(peer: StoredPeer, now: number): void {
    if (peer.role === "human") return;
    const cause = (reason: string, source: string) =>
      this.offline(peer.peer_id, { reason, source, terminal: false });
    if (this.#isOurs(peer) && peer.agent_pid !== null) {
      if (!this.#running(peer)) cause("agent_exited", "process");
      return;
    }
    if (this.#needs.directory.reachable(peer.peer_id)) return;
    const seen = this.#needs.directory.lastSeen(peer) ?? peer.registered_at;
    if (now - seen > UNSEEN_MS_MAX) cause("not_seen", "heart");
  }

  #running({ agent_pid, agent_started, machine }: StoredPeer): boolean {
    if (agent_pid === null || agent_started === null || machine !== this.#needs.machine) {
      return false;
    }
    return this.#needs.processes.isAlive(agent_pid, agent_started);
  }

  /** Whether its process can be looked at from here. */
  #isOurs({ machine, agent_started }: StoredPeer): boolean {
    return machine === this.#needs.machine && agent_started !== null;
  }

  /** One pane, one agent: whoever was registered on it has gone. */
  #takePane({ peer_id, pane_id, tmux_socket }: StoredPeer): void {
    if (pane_id === null) return;
    for (const other of rows.byPane(this.#ground.db, pane_id, tmux_socket)) {
      if (other.peer_id === peer_id || other.status === "offline") continue;
      this.offline(other.peer_id, {
        reason: "pane_takeover",
        source: "registration",
        detail: peer_id,
        terminal: false,
      });
    }
  }

  #refuseSecondHuman(peer_id: string | undefined): void {
    const human = rows.human(this.#ground.db);
    if (human && human.status !== "offline" && human.peer_id !== peer_id) {
      throw new Problem("human_exists", { peer_id: human.peer_id });
    }
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
      return { ...peer, closed, turn_state: null, offline_reason: cause.reason ?? null };
    });
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

  #update(peer_id: string, change: (peer: StoredPeer) => StoredPeer): void {
    this.#refuseRetired(peer_id);
    this.#change(peer_id, "sighted", (_, peer) => {
      this.#ground.events.append("peer_updated", { peer_id, name: peer.name });
      return change(peer);
    });
  }

  /** Reads, steps, writes: one peer, one transaction. */
  #change(
    peer_id: string,
    on: PeerEvent,
    work: (before: StoredPeer, peer: StoredPeer) => StoredPeer,
  ): void {
    const { db } = this.#ground;
    db.transact(() => {
      const before = this.#mustGet(peer_id);
      const status = peerMachine.step(before.status, on);
      rows.update(db, work(before, { ...before, status }));
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

function toAddressee(peer: StoredPeer): Addressee | undefined {
  if (peer.dropped_at !== null || peer.closed || !peer.addressable) return undefined;
  if (peer.status === "retired" || peer.status === "offline") return undefined;
  return addresseeOf(peer);
}

function addresseeOf(peer: StoredPeer): Addressee {
  const { agent_pid, agent_started, runtime_session_id, turn_state, metadata } = peer;
  const { peer_id, backend, tmux_socket, pane_id } = peer;
  const process = { agent_pid, agent_started, runtime_session_id };
  return { peer_id, backend, tmux_socket, pane_id, ...process, turn_state, metadata };
}
