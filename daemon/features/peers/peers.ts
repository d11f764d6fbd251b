/** The registry of peers: registers them, takes them online and offline, and removes them. */

import type { AgentProcesses } from "./identity/agent_processes.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { PeerChanges, RegistryDeps } from "./changes.ts";
import type { Offline } from "protocol/peers/contract.ts";
import type { Registration } from "protocol/peers/record.ts";
import type { SupersededExecutions } from "./identity/superseded.ts";
import { Admission, type PeerPorts, type RegistrationEvidence } from "./registration.ts";
import { Identification, withoutClientId } from "./identity/identification.ts";
import { hasEnded } from "./identity/known_peer.ts";
import { PaneOccupants } from "./identity/pane_occupants.ts";
import { freeName, isSuffixed, refuseReserved, refuseReservedTag } from "./identity/naming.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** The reason for which all peers go offline as the daemon starts. */
export const DAEMON_RESTART = "daemon_restart";

interface PeersDeps extends RegistryDeps {
  readonly agentProcesses: Pick<AgentProcesses, "remember">;
  readonly ports: PeerPorts;
  readonly superseded: SupersededExecutions;
}

export class Peers {
  readonly #ctx: Context;
  readonly #deps: PeersDeps;
  readonly #changes: PeerChanges;
  readonly #admission: Admission;
  readonly #identification: Identification;
  readonly #panes: PaneOccupants;

  constructor(ctx: Context, deps: PeersDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#changes = deps.changes;
    this.#admission = new Admission(ctx, deps);
    this.#identification = new Identification(ctx, deps);
    this.#panes = new PaneOccupants(ctx, {
      ...deps,
      offline: (peer_id, cause) => this.offline(peer_id, cause),
    });
  }

  /** Registers a new peer, or a known one again (contract 3). */
  register(given: Registration, initialEvidence: RegistrationEvidence = {}): StoredPeer {
    return this.admit(given, initialEvidence).peer;
  }

  /** As `register`. `proved`: true for a new peer, or a known peer with a proved identity. */
  admit(
    given: Registration,
    initialEvidence: RegistrationEvidence,
  ): { peer: StoredPeer; proved: boolean } {
    const { db, events } = this.#ctx;
    const expected = this.#deps.ports.expectedRegistration(given, initialEvidence);
    const { evidence } = expected;
    return db.transact((tx) => {
      const before = this.#identification.find(expected.registration, evidence);
      const client_key = this.#identification.clientKeyOf(expected.registration, evidence);
      const registration = toStoredRegistration(expected.registration, before, client_key);
      for (const tag of registration.tags ?? []) refuseReservedTag(db, tag, before?.tags);
      if (registration.name) {
        const { peer_id } = before ?? {};
        const { role } = registration;
        refuseReserved(db, registration.name, { peer_id, role, isSurface: evidence.is_surface });
      }
      const proved = !before || evidence.certificate !== undefined ||
        evidence.proven_peer_id === before.peer_id ||
        this.#identification.isProcessOf(before, evidence);
      if (before && this.#isSuperseded(before, registration.agent_pid ?? null)) {
        return { peer: before, proved };
      }
      this.#admission.mustHaveRoom(registration, before);
      const record = before
        ? this.#admission.renewedPeer(before, registration, evidence)
        : this.#admission.newPeer(registration, evidence);
      const peer = {
        ...this.#panes.claim(tx, record, evidence.pane_pid),
        client_key: this.#freeClientKey(record, client_key),
        certified: record.certified || (proved && evidence.getsCertificate === true),
      };
      if (peer.role === "human") refuseSecondHuman(db, before?.peer_id);
      if (before) rows.update(tx, peer);
      else rows.insert(tx, peer);
      if (before) this.#panes.passOn(tx, before);
      if (peer.agent_proved) this.#deps.agentProcesses.remember(peer);
      const { peer_id, circle, backend, role } = peer;
      const isBack = !before || before.status === "offline" || before.status === "retired" ||
        before.dropped_at !== null;
      const subject = this.#subject(peer);
      if (isBack) {
        events.append("peer_registered", { ...subject, circle, backend, role });
        db.afterCommit(() => this.#deps.effects.seen(peer_id));
      } else this.#changes.publishUpdated(peer);
      if (before?.addressable && !peer.addressable) this.#changes.becomeUnaddressable(peer);
      this.#deps.directory.touch(peer_id);
      db.afterCommit(() => this.#deps.effects.availabilityChanged(peer_id));
      return { peer, proved };
    });
  }

  /** Registers a peer again, with the process that a restart started in its pane. */
  registerRestarted(peer_id: string, agent_pid: number): void {
    const { backend, path } = rows.get(this.#ctx.db, peer_id) ?? {};
    if (!backend || !path) throw new Problem("unknown_peer", { peer: peer_id });
    const evidence = { proven_peer_id: peer_id, isProcess: () => true };
    this.register({ peer_id, backend, path, agent_pid }, evidence);
  }

  /** Registers the configured human, or renames it to a new name (contract 2). */
  registerHuman(name: string): void {
    const human = this.#deps.directory.human();
    const attributes = {
      name,
      path: "/",
      role: "human",
      backend: "sdk",
      circle: "default",
    } as const;
    this.register({ ...(human && { peer_id: human.peer_id }), ...attributes }, {
      proven_peer_id: human?.peer_id,
    });
  }

  /**
   * Brings a peer online, on evidence such as a socket, its process or a touch. After the end of
   * its process only a registration does.
   */
  markSeen(peer_id: string, transport: string): void {
    const known = this.#changes.mustGet(peer_id);
    if (this.#isSuperseded(known, known.agent_pid) || hasEnded(this.#deps, known)) return;
    this.#ctx.db.transact((tx) => {
      this.#changes.applyEvent(peer_id, "sighted", (before, peer) => {
        this.#deps.directory.touch(peer_id);
        const seenPeer = { ...peer, status_by: transport, status_at: this.#ctx.clock.now() };
        if (before.status !== "offline") return seenPeer;
        const name = freeName(this.#ctx.db, { name: peer.name, circle: peer.circle, peer_id });
        this.#ctx.events.append("peer_online", { ...this.#subject({ ...peer, name }), transport });
        this.#ctx.db.afterCommit(() => {
          this.#deps.effects.seen(peer_id);
          this.#deps.effects.availabilityChanged(peer_id);
        });
        return { ...seenPeer, name, offline_reason: null };
      });
      if (known.status === "offline") this.#panes.restore(tx, peer_id);
    });
  }

  touch(peer_id: string): void {
    this.#changes.refuseRetired(peer_id);
    this.markSeen(peer_id, "none");
  }

  /** The turn of an agent ends with its process or its session. */
  #endTurn({ peer_id, status, turn_state }: StoredPeer, { reason, source }: Offline): void {
    const wasInTurn = turn_state === "working" || turn_state === "awaiting_input";
    const hasEnded = reason === "agent_exited" || reason === "session_end";
    if (status === "offline" || !wasInTurn || !hasEnded) return;
    const now = this.#ctx.clock.now();
    const end = { how: "killed" as const, at: now, source: source ?? "unknown" };
    this.#deps.effects.turnEvidence(peer_id, { now, ends: [end], idle: null });
  }

  /** Takes a peer offline. A terminal cause retires it: its socket and its asks are closed. */
  offline(peer_id: string, cause: Offline): void {
    if (this.#isFromReplacedProcess(peer_id, cause)) return;
    this.#changes.refuseHuman(peer_id);
    if (cause.terminal) return this.#retire(peer_id, cause, { closed: false });
    this.#changes.refuseRetired(peer_id);
    this.#ctx.db.transact((tx) => {
      const known = this.#changes.mustGet(peer_id);
      this.#changes.applyEvent(peer_id, "lost", (before, peer) => {
        if (before.status !== "offline") this.#publishOffline(peer, cause);
        this.#endTurn(before, cause);
        this.#ctx.db.afterCommit(() => this.#deps.effects.wentOffline(peer_id));
        return this.#toOffline(peer, cause);
      });
      // As the daemon starts, all peers are offline until their processes are found again.
      if (cause.reason !== DAEMON_RESTART) this.#panes.passOn(tx, known);
    });
  }

  /** Removes a peer for the operator; it cannot register again. */
  close(peer_id: string): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      this.#changes.refuseHuman(peer_id);
      const { name } = this.#changes.mustGet(peer_id);
      this.#retire(peer_id, { reason: "closed", source: "operator" }, { closed: true });
      events.append("peer_removed", { peer_id, name });
      db.afterCommit(() => this.#deps.superseded.forget(peer_id));
    });
  }

  /** Drops a registration. The record stays for the same session to register again. */
  unregister(peer_id: string): void {
    const { db, events, clock } = this.#ctx;
    db.transact((tx) => {
      this.offline(peer_id, { reason: "unregistered", source: "peer", terminal: false });
      const peer = this.#changes.mustGet(peer_id);
      rows.update(tx, { ...peer, dropped_at: clock.now() });
      events.append("peer_removed", { peer_id, name: peer.name });
      db.afterCommit(() => this.#deps.effects.closeSocket(peer_id, "going_away"));
    });
  }

  recordDelivery(peer_id: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => rows.setLastDelivery(tx, peer_id, clock.now()));
  }

  /** The key by which the peer is recognized from now on; it is unique. */
  #freeClientKey({ peer_id, client_key }: StoredPeer, given: string | undefined): string | null {
    if (given === undefined) return client_key;
    const holder = rows.byClient(this.#ctx.db, given);
    return !holder || holder.peer_id === peer_id ? given : client_key;
  }

  /** True if a report comes from a process that a restart replaced (specification 3). */
  #isFromReplacedProcess(peer_id: string, cause: Offline): boolean {
    const restart_id = this.#deps.superseded.findRestart(cause);
    if (restart_id === undefined) return false;
    const { db, events } = this.#ctx;
    db.transact(() => events.append("peer_restart_offline_ignored", { restart_id, peer_id }));
    return true;
  }

  /** True if a sign of life comes from an execution that a restart is replacing. */
  #isSuperseded({ peer_id, status }: StoredPeer, agent_pid: number | null): boolean {
    return status === "offline" && this.#deps.ports.isSuperseded(peer_id, agent_pid);
  }

  #retire(peer_id: string, cause: Omit<Offline, "terminal">, { closed }: { closed: boolean }) {
    const { db, events } = this.#ctx;
    db.transact((tx) => {
      const known = this.#changes.mustGet(peer_id);
      const address = this.#changes.mustAddress(peer_id);
      this.#changes.applyEvent(peer_id, "retired", (_, peer) => ({
        ...this.#toOffline(peer, cause),
        closed: peer.closed || closed,
      }));
      // After its record is retired, nothing more is queued for the peer, such as the end of an ask
      // to itself.
      this.#deps.effects.unreachable(address, "peer_retired");
      if (known.status !== "retired") {
        this.#publishOffline(known, { ...cause, terminal: true });
        events.append("peer_retired", this.#subject(known));
      }
      db.afterCommit(() => this.#deps.effects.closeSocket(peer_id, "peer_retired"));
      this.#panes.passOn(tx, known);
    });
  }

  #toOffline(peer: StoredPeer, { reason, source }: Omit<Offline, "terminal">): StoredPeer {
    const why = { offline_reason: reason ?? null, status_by: source ?? null };
    const turn = { turn_state: null, turn_at: null, turn_by: null };
    return { ...peer, ...turn, ...why, status_at: this.#ctx.clock.now() };
  }

  /** The subject of an event, with the parent of a subagent. */
  #subject(peer: Pick<StoredPeer, "peer_id" | "name" | "parent_runtime_id">) {
    return subjectOf(peer, this.#deps.directory.parentOf(peer));
  }

  #publishOffline(peer: StoredPeer, cause: Offline): void {
    this.#ctx.events.append("peer_offline", {
      ...this.#subject(peer),
      reason: cause.reason ?? null,
      source: cause.source ?? null,
      detail: cause.detail ?? null,
      terminal: cause.terminal,
    });
  }
}

/** A registration as stored, without the `client_id`. A client keeps its renamed peer's name. */
function toStoredRegistration(
  registration: Registration,
  before: StoredPeer | undefined,
  client_key: string | undefined,
): Registration {
  const stored = withoutClientId(registration);
  const isClient = client_key !== undefined && before?.client_key === client_key;
  if (!isClient || isSuffixed(before.name, registration.name)) return stored;
  return { ...stored, name: before.name };
}

/** The subject of an event, with its parent if that is registered. */
export function subjectOf(
  { peer_id, name }: Pick<StoredPeer, "peer_id" | "name">,
  parent_peer_id: string | null,
) {
  return { peer_id, name, ...(parent_peer_id !== null && { parent_peer_id }) };
}

/** Refuses a second human (contract 2). */
function refuseSecondHuman(db: Reader, peer_id: string | undefined): void {
  const human = rows.human(db);
  if (human && human.peer_id !== peer_id) {
    throw new Problem("human_exists", { peer_id: human.peer_id });
  }
}
