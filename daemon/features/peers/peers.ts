/** The peers desk: who comes, who goes, who is retired. Every change to a peer happens here. */

import type { Context } from "kit/data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { Problem } from "kit/core/problem.ts";
import type { AgentPeer, Observation } from "../agents/adapter.ts";
import type { Address, Chat, Offline, Provenance, Registration, Role, Turn } from "./contract.ts";
import { type Directory, isLive } from "./directory.ts";
import type { Superseded } from "./superseded.ts";
import { ProcessWatcher } from "./process_watcher.ts";
import { type PeerEvent, peerMachine } from "./machine.ts";
import {
  Admission,
  type ExpectedRegistration,
  freeName,
  type ProcessLookup,
  provenanceOf,
  refuseReserved,
  refuseSecondHuman,
  type RegistrationEvidence,
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
  processProven(process: Pick<StoredPeer, "agent_pid" | "agent_started">): void;
  promptSeen(peer_id: string, prompt: string): void;
  /** A turn of it has ended with this message. */
  finalMessageSeen(peer_id: string, last_message: string): void;
  /** Something changed that may let waiting messages through. */
  availabilityChanged(peer_id: string): void;
  /** It has gone offline: nothing goes through until it is heard of again. */
  wentOffline(peer_id: string): void;
  /** Its record has changed, which it may want to know. */
  recordUpdated(peer_id: string): void;
  closeSocket(peer_id: string, why: "peer_retired" | "going_away"): void;
}

export interface PeersDeps {
  readonly directory: Directory;
  readonly processes: ProcessLookup;
  readonly reactions: Reactions;
  readonly superseded: Superseded;
  /** The name of this machine. */
  readonly machine: string;
  readonly expectedRegistration: ExpectedRegistration;
  /** Whether this process speaks for an execution that a restart is replacing just now. */
  isSuperseded(peer_id: string, agent_pid: number | null): boolean;
}

export class Peers {
  readonly #ctx: Context;
  readonly #deps: PeersDeps;
  readonly #admission: Admission;
  readonly #processWatcher: ProcessWatcher;

  constructor(ctx: Context, deps: PeersDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    const { processes, machine, directory } = deps;
    this.#admission = new Admission(ctx, {
      processes,
      machine,
      isConnected: (peer_id) => directory.isConnected(peer_id),
    });
    this.#processWatcher = new ProcessWatcher(ctx, deps, this);
  }

  /** Registers a peer, or brings back the one that this is (contract 3). */
  register(given: Registration, initialEvidence: RegistrationEvidence = {}): StoredPeer {
    return this.admit(given, initialEvidence).peer;
  }

  /** The same, and whether it is new or has proved to be the one that it comes back as. */
  admit(
    given: Registration,
    initialEvidence: RegistrationEvidence,
  ): { peer: StoredPeer; proved: boolean } {
    const { db, events } = this.#ctx;
    const { registration, evidence } = this.#deps.expectedRegistration(given, initialEvidence);
    return db.transact((tx) => {
      const before = this.#admission.identify(registration, evidence);
      if (registration.name && !evidence.reserved_names) {
        refuseReserved(db, registration.name, before?.peer_id);
      }
      const proved = !before || evidence.certificate !== undefined ||
        evidence.proven_peer_id === before.peer_id ||
        this.#admission.isProcessOf(before, evidence);
      if (before && this.#isSuperseded(before, registration.agent_pid ?? null)) {
        return { peer: before, proved };
      }
      const peer = before
        ? this.#admission.renewedPeer(before, registration, evidence)
        : this.#admission.newPeer(registration, evidence);
      if (peer.role === "human") refuseSecondHuman(db, before?.peer_id);
      this.#takeOverPane(tx, peer);
      if (before) rows.update(tx, peer);
      else rows.insert(tx, peer);
      if (peer.agent_proved) this.#deps.reactions.processProven(peer);
      const { peer_id, name, circle, backend, role } = peer;
      const isBack = !before || before.status === "offline" || before.status === "retired" ||
        before.dropped_at !== null;
      if (isBack) events.append("peer_registered", { peer_id, name, circle, backend, role });
      else this.#publishUpdated(peer);
      if (before?.addressable && !peer.addressable) this.#becomeUnaddressable(peer);
      this.#deps.directory.touch(peer_id);
      db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
      return { peer, proved };
    });
  }

  /** Evidence that a peer is here: a socket, its process, a touch. */
  markSeen(peer_id: string, transport: string): void {
    const known = this.#mustGet(peer_id);
    if (this.#isSuperseded(known, known.agent_pid)) return;
    this.#applyEvent(peer_id, "sighted", (before, peer) => {
      this.#deps.directory.touch(peer_id);
      const seenPeer = { ...peer, status_by: transport, status_at: this.#ctx.clock.now() };
      if (before.status !== "offline") return seenPeer;
      const name = freeName(this.#ctx.db, { name: peer.name, circle: peer.circle, peer_id });
      this.#ctx.events.append("peer_online", { peer_id, name, transport });
      this.#ctx.db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
      return { ...seenPeer, name, offline_reason: null };
    });
  }

  touch(peer_id: string): void {
    this.#refuseRetired(peer_id);
    this.markSeen(peer_id, "none");
  }

  /** Plain offline, or terminal: retired, its line severed, its asks closed. */
  offline(peer_id: string, cause: Offline): void {
    if (this.#isFromReplacedProcess(peer_id, cause)) return;
    this.#refuseHuman(peer_id);
    if (cause.terminal) return this.#retire(peer_id, cause, { closed: false });
    this.#refuseRetired(peer_id);
    this.#applyEvent(peer_id, "lost", (before, peer) => {
      if (before.status !== "offline") this.#publishOffline(peer, cause);
      this.#ctx.db.afterCommit(() => this.#deps.reactions.wentOffline(peer_id));
      return this.#toOffline(peer, cause);
    });
  }

  /** Closed by the operator: removed, and never reclaimed. */
  close(peer_id: string): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      this.#refuseHuman(peer_id);
      const { name } = this.#mustGet(peer_id);
      this.#retire(peer_id, { reason: "closed", source: "operator" }, { closed: true });
      events.append("peer_removed", { peer_id, name });
      db.afterCommit(() => this.#deps.superseded.forget(peer_id));
    });
  }

  /** Drops a registration; the record sleeps until the same session registers again. */
  unregister(peer_id: string): void {
    const { db, events, clock } = this.#ctx;
    db.transact((tx) => {
      this.offline(peer_id, { reason: "unregistered", source: "peer", terminal: false });
      const peer = this.#mustGet(peer_id);
      rows.update(tx, { ...peer, dropped_at: clock.now() });
      events.append("peer_removed", { peer_id, name: peer.name });
      db.afterCommit(() => this.#deps.reactions.closeSocket(peer_id, "going_away"));
    });
  }

  /** What it says of itself is a sign of life. */
  describe(peer_id: string, description: string): void {
    this.touch(peer_id);
    this.#update(peer_id, (peer) => ({
      ...peer,
      description: description === "" ? null : description,
      described_at: this.#ctx.clock.now(),
    }));
  }

  rename(peer_id: string, name: string): void {
    this.#refuseHuman(peer_id);
    refuseReserved(this.#ctx.db, name, peer_id);
    this.reassign(peer_id, { name });
  }

  /** Gives a peer what it was asked to be, and did not know of when it registered. */
  reassign(peer_id: string, changes: Partial<Pick<StoredPeer, "name" | "circle" | "role">>): void {
    this.#update(peer_id, (peer) => {
      const placed = { ...peer, ...changes };
      return { ...placed, name: freeName(this.#ctx.db, placed) };
    });
  }

  /** Gives a peer a role; a live orchestrator gives way only to `force` (contract 3). */
  changeRole(
    peer_id: string,
    { role, force }: { role: Exclude<Role, "human">; force: boolean },
  ): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.#refuseRetired(peer_id);
      this.#refuseHuman(peer_id);
      const { circle } = this.#mustGet(peer_id);
      const others = role === "orchestrator" ? rows.orchestrators(db, circle) : [];
      for (const other of others.filter((other) => other.peer_id !== peer_id)) {
        const { peer_id: present_id, name } = other;
        if (isLive(other) && !force) {
          throw new Problem("orchestrator_present", { peer_id: present_id, name });
        }
        rows.update(tx, { ...this.#mustGet(present_id), role: "agent" });
        if (other.dropped_at === null) this.#publishUpdated({ peer_id: present_id, name });
      }
      this.#update(peer_id, (peer) => ({ ...peer, role }));
    });
  }

  /** Replaces all provenance of a live peer; losing addressability clears its table. */
  setProvenance(peer_id: string, provenance: Provenance): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      const before = this.#mustGet(peer_id);
      if (!isLive(before)) throw new Problem("unknown_peer", { peer: peer_id });
      const peer = { ...before, ...provenanceOf(provenance, before) };
      rows.update(tx, peer);
      this.#publishUpdated(peer);
      if (before.addressable && !peer.addressable) this.#becomeUnaddressable(peer);
    });
  }

  /** What a hook saw of a turn (contract 3). */
  reportTurn(peer_id: string, turn: Turn, by = "hook"): void {
    this.#refuseRetired(peer_id);
    const { db, clock } = this.#ctx;
    const { turn_state, status, model, prompt, last_message } = turn;
    db.transact(() => {
      const busy = status ? status === "busy" : turn_state === "working";
      const event: PeerEvent = busy ? "turn_started" : "turn_ended";
      if (this.#mustGet(peer_id).status === "offline") this.markSeen(peer_id, by);
      const isOnline = this.#mustGet(peer_id).status !== "offline"; // Not where it is being replaced.
      if (isOnline && (status || turn_state || model)) {
        this.#applyEvent(peer_id, status || turn_state ? event : "sighted", (_, peer) => ({
          ...peer,
          turn_state: turn_state ?? peer.turn_state,
          turn_at: turn_state ? clock.now() : peer.turn_at,
          turn_by: turn_state ? by : peer.turn_by,
          status_by: by,
          status_at: clock.now(),
          model: model ?? peer.model,
        }));
      }
      if (prompt !== undefined) this.#deps.reactions.promptSeen(peer_id, prompt);
      if (last_message !== undefined) this.#deps.reactions.finalMessageSeen(peer_id, last_message);
      this.#deps.directory.touch(peer_id);
      db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
    });
  }

  /** What was said in a turn: told without its text, and believed as a proof of what it holds. */
  reportChat(peer_id: string, { role, text, turn_id }: Chat): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      this.reportTurn(peer_id, role === "user" ? { prompt: text } : { last_message: text });
      events.append("chat_turn", { peer_id, role, turn_id: turn_id ?? null });
    });
  }

  recordDelivery(peer_id: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => rows.setLastDelivery(tx, peer_id, clock.now()));
  }

  /** What was seen of a peer from outside, while it was as it is on the record now. */
  applyObservation(seen: AgentPeer, { alive, turn_state, model, source, at }: Observation): void {
    const { db, clock } = this.#ctx;
    const { peer_id } = seen;
    const isNews = turn_state !== null && turn_state !== seen.turn_state;
    if (alive && model === undefined && !isNews) return;
    db.transact(() => {
      const now = rows.get(db, peer_id);
      if (!now || !isLive(now) || now.machine !== this.#deps.machine) return;
      if (now.agent_started !== seen.agent_started || now.pane_id !== seen.pane_id) return;
      if (!alive) {
        if (this.#deps.directory.isConnected(peer_id)) return;
        return this.offline(peer_id, { reason: "agent_exited", source, terminal: false });
      }
      if (model !== undefined && model !== now.model) {
        this.#applyEvent(peer_id, "sighted", (_, peer) => ({ ...peer, model }));
      }
      if (turn_state === null || turn_state === now.turn_state) return;
      this.#applyEvent(
        peer_id,
        turn_state === "working" ? "turn_started" : "turn_ended",
        (_, peer) => {
          return { ...peer, turn_state, turn_at: at ?? clock.now(), turn_by: source };
        },
      );
      db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
    });
  }

  /** After a start: nobody is believed to be here without evidence. */
  start(): void {
    this.#processWatcher.start();
  }

  /** Once a second: signs of life are written down, and who is gone goes offline. */
  tick(now: number): void {
    this.#processWatcher.tick(now);
  }

  /** One pane, one agent: whoever was registered on it is there no more (specification 3). */
  #takeOverPane(tx: Tx, peer: StoredPeer): void {
    if (peer.pane_id === null) return;
    const { peer_id } = peer;
    const cause = { reason: "pane_takeover", source: "registration", detail: peer_id };
    for (const other of rows.byRecordedPane(tx, peer)) {
      if (other.peer_id === peer_id) continue;
      if (isLive(other)) this.offline(other.peer_id, { ...cause, terminal: false });
      rows.update(tx, { ...this.#mustGet(other.peer_id), pane_id: null });
    }
  }

  /** The end of an execution that a restart replaced is none of the peer's (specification 3). */
  #isFromReplacedProcess(peer_id: string, cause: Offline): boolean {
    const restart_id = this.#deps.superseded.findRestart(cause);
    if (restart_id === undefined) return false;
    const { db, events } = this.#ctx;
    db.transact(() => events.append("peer_restart_offline_ignored", { restart_id, peer_id }));
    return true;
  }

  /** What such a process says of being here is not believed. */
  #isSuperseded({ peer_id, status }: StoredPeer, agent_pid: number | null): boolean {
    return status === "offline" && this.#deps.isSuperseded(peer_id, agent_pid);
  }

  /** The human is always here: nobody else ends or renames it (contract 2). */
  #refuseHuman(peer_id: string): void {
    if (this.#mustGet(peer_id).role === "human") throw new Problem("role_fixed", { peer_id });
  }

  #refuseRetired(peer_id: string): void {
    if (this.#mustGet(peer_id).status === "retired") throw new Problem("peer_retired", { peer_id });
  }

  #retire(peer_id: string, cause: Omit<Offline, "terminal">, { closed }: { closed: boolean }) {
    const { db, events } = this.#ctx;
    this.#applyEvent(peer_id, "retired", (before, peer) => {
      this.#deps.reactions.unreachable(this.#mustAddress(peer_id), "peer_retired");
      if (before.status !== "retired") {
        this.#publishOffline(peer, { ...cause, terminal: true });
        events.append("peer_retired", { peer_id, name: peer.name });
      }
      db.afterCommit(() => this.#deps.reactions.closeSocket(peer_id, "peer_retired"));
      return { ...this.#toOffline(peer, cause), closed: peer.closed || closed };
    });
  }

  #toOffline(peer: StoredPeer, { reason, source }: Omit<Offline, "terminal">): StoredPeer {
    const why = { offline_reason: reason ?? null, status_by: source ?? null };
    const turn = { turn_state: null, turn_at: null, turn_by: null };
    return { ...peer, ...turn, ...why, status_at: this.#ctx.clock.now() };
  }

  #becomeUnaddressable(peer: StoredPeer): void {
    const { peer_id, addressable_reason } = peer;
    const why = "peer_not_addressable";
    const counts = this.#deps.reactions.unreachable(this.#mustAddress(peer_id), why);
    this.#ctx.events.append(why, { peer_id, ...counts, addressable_reason });
  }

  #publishOffline({ peer_id, name }: StoredPeer, cause: Offline): void {
    this.#ctx.events.append("peer_offline", {
      peer_id,
      name,
      reason: cause.reason ?? null,
      source: cause.source ?? null,
      detail: cause.detail ?? null,
      terminal: cause.terminal,
    });
  }

  #publishUpdated({ peer_id, name }: Pick<StoredPeer, "peer_id" | "name">): void {
    const { db, events } = this.#ctx;
    events.append("peer_updated", { peer_id, name });
    db.afterCommit(() => this.#deps.reactions.recordUpdated(peer_id));
  }

  /** Changes what is said of a peer, and neither its status nor its signs of life. */
  #update(peer_id: string, change: (peer: StoredPeer) => StoredPeer): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.#refuseRetired(peer_id);
      const peer = change(this.#mustGet(peer_id));
      rows.update(tx, peer);
      this.#publishUpdated(peer);
    });
  }

  /** Reads, steps, writes: one peer, one transaction. */
  #applyEvent(
    peer_id: string,
    event: PeerEvent,
    apply: (before: StoredPeer, peer: StoredPeer) => StoredPeer,
  ): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      const before = this.#mustGet(peer_id);
      const status = peerMachine.step(before.status, event);
      rows.update(tx, apply(before, { ...before, status }));
    });
  }

  #mustGet(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }

  #mustAddress(peer_id: string): Address {
    const address = rows.address(this.#ctx.db, peer_id);
    if (!address) throw new Problem("unknown_peer", { peer: peer_id });
    return address;
  }
}
