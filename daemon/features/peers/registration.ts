/** Admission: which known peer a registration is, and the record that results. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Peer, Provenance, Registration } from "./schemas.ts";
import { type Claims, mustMatchPeer, mustMatchPresented } from "./identity/certificates.ts";
import { isLive } from "./directory.ts";
import { circleOf, freeName, NAME_LENGTH_MAX, nameOf } from "./identity/naming.ts";
import { peerMachine } from "./machine.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** The source of a status that the registration itself reports. */
const REGISTRATION = "registration";

/** Facts about processes. A pid identifies a process only with its start time. */
export interface ProcessLookup {
  startTimeOf(pid: number): string | undefined;
  isAlive(pid: number, started?: string): boolean;
}

/** What a registration proves, and what its origin allows. */
export interface RegistrationEvidence {
  /** The peer that it is, as the daemon itself found. */
  readonly proven_peer_id?: string | undefined;
  /** Whether the kernel proves that this process or a descendant sends the registration. */
  readonly isProcess?: (pid: number) => boolean;
  /** Sent by an agent's hook, which names the agent's session. */
  readonly by_hook?: boolean;
  /** The claims of the verified certificate that came with it. */
  readonly certificate?: Claims | undefined;
  /** The circle of its tmux window, for a new peer that names no circle. */
  readonly window_circle?: string | undefined;
  /** It names no path, so that a known path stays. */
  readonly omitsPath?: boolean;
  /** Surfaces and bridges may use the human's aliases. */
  readonly reserved_names?: boolean;
}

/** Completes a registration that was expected, with its place, its name or its peer. */
export interface ExpectedRegistration {
  (registration: Registration, evidence: RegistrationEvidence): {
    readonly registration: Registration;
    readonly evidence: RegistrationEvidence;
  };
}

export interface AdmissionDeps {
  readonly processes: ProcessLookup;
  /** The name of this machine. */
  readonly machine: string;
  isConnected(peer_id: string): boolean;
}

export class Admission {
  readonly #ctx: Context;
  readonly #deps: AdmissionDeps;

  constructor(ctx: Context, deps: AdmissionDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Finds the known peer of a registration: by id, process, session, or name while offline. */
  identify(registration: Registration, evidence: RegistrationEvidence): StoredPeer | undefined {
    const { db } = this.#ctx;
    const { peer_id, agent_pid, runtime_session_id, backend } = registration;
    if (peer_id) return this.#findClaimed(peer_id, registration, evidence);
    const started = agent_pid && this.#startTimeOf(registration);
    const byProcess = started && evidence.isProcess?.(agent_pid)
      ? rows.byProcess(db, agent_pid, started).filter((peer) => !isAnotherAgent(peer, registration))
      : [];
    const bySession = runtime_session_id ? rows.bySession(db, runtime_session_id) : [];
    const reusable = bySession.filter((peer) => this.#mayReuse(peer, evidence));
    const found = [...byProcess, ...reusable].find((peer) => peer.backend === backend);
    return found ?? this.#findOffline(registration, evidence);
  }

  /** An offline peer of the same name, circle, path and backend, without process or session. */
  #findOffline(registration: Registration, evidence: RegistrationEvidence): StoredPeer | undefined {
    const { db } = this.#ctx;
    const { backend, path, runtime_session_id, agent_pid, pane_id } = registration;
    if (runtime_session_id || agent_pid || pane_id || !registration.name) return undefined;
    const circle = circleOf(registration, evidence);
    return rows.offlineByName(db, registration.name, circle).find((peer) =>
      peer.backend === backend && (evidence.omitsPath || peer.path === path) &&
      peer.runtime_session_id === null && peer.agent_pid === null
    );
  }

  /** Whether another process may continue the session: only after the peer's own has ended. */
  #mayReuse(peer: StoredPeer, evidence: RegistrationEvidence): boolean {
    if (evidence.by_hook || peer.agent_pid === null || this.#hasEnded(peer)) return true;
    return this.isProcessOf(peer, evidence);
  }

  /** Whether the registration is proved to come from the process on a peer's record. */
  isProcessOf(
    { agent_pid, agent_started }: StoredPeer,
    { isProcess }: RegistrationEvidence,
  ): boolean {
    if (agent_pid === null || agent_started === null || !isProcess) return false;
    return this.#deps.processes.isAlive(agent_pid, agent_started) && isProcess(agent_pid);
  }

  #findClaimed(peer_id: string, registration: Registration, evidence: RegistrationEvidence) {
    const found = rows.get(this.#ctx.db, peer_id);
    if (!found) return undefined;
    const { agent_pid, backend, name, circle } = registration;
    if (found.closed) throw new Problem("peer_retired", { peer_id });
    if (found.status === "retired" && !(agent_pid && this.#startTimeOf(registration))) {
      throw new Problem("peer_retired", { peer_id });
    }
    if (evidence.certificate) {
      const { path, ...presented } = registration;
      mustMatchPresented(evidence.certificate, {
        ...presented,
        ...(!evidence.omitsPath && { path }),
      });
      mustMatchPeer(evidence.certificate, found);
      return found;
    }
    if (evidence.proven_peer_id === peer_id) return found;
    if (this.isProcessOf(found, evidence)) return found;
    const matches = backend === found.backend && (!name || name === found.name) &&
      (!circle || circle === found.circle);
    // The caller's own live process brings a retired peer back (specification 3).
    if (found.status === "retired" && matches && evidence.isProcess?.(agent_pid ?? 0)) return found;
    // A peer with a process or a session is identified by these, and never by its name.
    const isIdentified = found.agent_pid !== null || found.runtime_session_id !== null;
    if (isIdentified || !matches || this.#deps.isConnected(peer_id)) {
      throw new Problem("identity_not_proven", { peer_id });
    }
    return found;
  }

  newPeer(registration: Registration, evidence: RegistrationEvidence): StoredPeer {
    const { db, ids, clock } = this.#ctx;
    let peer_id = ids.next("peer");
    while (rows.address(db, peer_id)) peer_id = ids.next("peer");
    const circle = circleOf(registration, evidence);
    const metadata = registration.metadata ?? {};
    const role = registration.role ?? "agent";
    const facts = this.#factsOf(registration);
    return {
      ...facts,
      agent_proved: isProved(undefined, facts, evidence),
      peer_id,
      circle,
      name: freeName(db, { name: nameOf(registration), circle, peer_id }),
      role,
      status: "online",
      turn_state: registration.turn_state ?? null,
      turn_at: registration.turn_state ? clock.now() : null,
      turn_by: registration.turn_state ? REGISTRATION : null,
      status_by: REGISTRATION,
      status_at: clock.now(),
      last_seen: clock.now(),
      description: null,
      described_at: null,
      metadata,
      mesh_session_id: ids.next("ms"),
      ...provenanceOf(registration.provenance ?? {}, { metadata, role }),
      offline_reason: null,
      last_delivery_at: null,
      last_delivery_failure_at: null,
      registered_at: clock.now(),
      dropped_at: null,
      closed: false,
    };
  }

  /** The record after a new registration: given fields replace known ones, the others stay. */
  renewedPeer(
    before: StoredPeer,
    givenRegistration: Registration,
    evidence: RegistrationEvidence,
  ): StoredPeer {
    const path = evidence.omitsPath && before.path || givenRegistration.path;
    const registration = { ...givenRegistration, path };
    const { db, ids, clock } = this.#ctx;
    const circle = registration.circle ?? before.circle;
    const name = registration.name ?? before.name;
    const { peer_id } = before;
    const knownFacts = Object.fromEntries(
      Object.entries(this.#factsOf(registration)).filter(([, value]) => value !== null),
    );
    const newSession = registration.runtime_session_id !== undefined &&
      registration.runtime_session_id !== before.runtime_session_id;
    const event = before.status === "retired" ? "reclaimed" : "registered";
    const metadata = registration.metadata ?? before.metadata;
    const role = before.role === "human" ? before.role : registration.role ?? before.role;
    const { provenance } = registration;
    const facts = {
      ...before,
      ...(this.#hasEnded(before) && { agent_pid: null, agent_started: null }),
      ...knownFacts,
    };
    return {
      ...facts,
      agent_proved: isProved(before, facts, evidence),
      circle,
      name: freeName(db, { name, circle, peer_id }),
      role,
      status: peerMachine.step(before.status, event),
      turn_state: registration.turn_state ?? null,
      turn_at: registration.turn_state ? clock.now() : null,
      turn_by: registration.turn_state ? REGISTRATION : null,
      status_by: REGISTRATION,
      status_at: clock.now(),
      last_seen: clock.now(),
      metadata,
      mesh_session_id: newSession ? ids.next("ms") : before.mesh_session_id,
      source: inferSource(before.source, metadata),
      ...(provenance && provenanceOf(provenance, { metadata, role })),
      offline_reason: null,
      dropped_at: null,
    };
  }

  /** Whether the recorded process is known to have ended. */
  #hasEnded({ agent_pid, agent_started, machine }: StoredPeer): boolean {
    if (agent_pid === null || agent_started === null || machine !== this.#deps.machine) {
      return false;
    }
    return !this.#deps.processes.isAlive(agent_pid, agent_started);
  }

  #factsOf(registration: Registration) {
    const { path, machine, tmux_session, tmux_socket, pane_id, backend, model, role } =
      registration;
    const { agent_pid, runtime_session_id } = registration;
    return {
      path,
      machine: machine ?? this.#deps.machine,
      tmux_session: tmux_session ?? null,
      tmux_socket: tmux_socket ?? null,
      pane_id: pane_id ?? null,
      backend: role === "human" ? null : backend,
      model: model ?? null,
      agent_pid: agent_pid ?? null,
      agent_started: this.#startTimeOf(registration) ?? null,
      runtime_session_id: runtime_session_id ?? null,
    };
  }

  #startTimeOf({ agent_pid, machine }: Registration): string | undefined {
    if (agent_pid === undefined) return undefined;
    if (machine !== undefined && machine !== this.#deps.machine) return undefined;
    return this.#deps.processes.startTimeOf(agent_pid);
  }
}

/** Whether the process is proved. A proof holds for one process, not for its reused pid. */
function isProved(
  before: StoredPeer | undefined,
  { agent_pid, agent_started }: Pick<StoredPeer, "agent_pid" | "agent_started">,
  { isProcess }: RegistrationEvidence,
): boolean {
  if (agent_pid === null) return false;
  const isSame = agent_pid === before?.agent_pid && agent_started === before.agent_started;
  return isProcess?.(agent_pid) || (isSame && before.agent_proved);
}

/**
 * Whether a registration from the process of `peer` is a different peer: a program may register
 * several peers under different names. An agent's hooks give no name.
 */
function isAnotherAgent(
  peer: StoredPeer,
  { name, pane_id, runtime_session_id }: Registration,
): boolean {
  if (!isLive(peer) || name === undefined || name === peer.name) return false;
  const [base = ""] = peer.name.split(/-\d+$/); // It may have this name with a suffix.
  if (name === base || (name.length === NAME_LENGTH_MAX && name.startsWith(base))) return false;
  if (runtime_session_id && runtime_session_id === peer.runtime_session_id) return false;
  return !pane_id || pane_id !== peer.pane_id;
}

/** A complete provenance; an `unknown` source is inferred from metadata (contract 3). */
export function provenanceOf(
  given: Provenance,
  { metadata, role }: Pick<Peer, "metadata" | "role">,
) {
  return {
    source: inferSource(given.source ?? "unknown", metadata),
    initiator: given.initiator ?? null,
    parent_runtime_id: given.parent_runtime_id ?? null,
    ephemeral: given.ephemeral ?? false,
    addressable: role === "human" || (given.addressable ?? true),
    addressable_reason: given.addressable_reason ?? null,
  };
}

function inferSource(source: Peer["source"], metadata: Peer["metadata"]): Peer["source"] {
  if (source !== "unknown") return source;
  const { transport, hook_version } = metadata;
  if (typeof transport === "string" && /app.?server/i.test(transport)) return "backend-app-server";
  return (hook_version ?? null) === null ? "unknown" : "hook";
}
