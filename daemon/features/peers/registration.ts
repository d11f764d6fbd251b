/** Admission: the record that results from a registration. */

import type { Context } from "../../data/context.ts";
import type { PaneRoot } from "../../host/tmux/pane.ts";
import type { RegistryDeps } from "./changes.ts";
import {
  LIVE_PEERS_MAX,
  type Peer,
  PEER_RECORDS_MAX,
  type Provenance,
  type Registration,
} from "protocol/peers/record.ts";
import type { NewPeerId } from "./identity/peer_ids.ts";
import type { Claims } from "./identity/certificates.ts";
import { hasEnded, startTimeOf } from "./identity/known_peer.ts";
import { circleOf, freeName, newName } from "./identity/naming.ts";
import { peerMachine } from "protocol/peers/states.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";
import { Problem } from "protocol/problems.ts";
import { isLive } from "./directory.ts";

/** The source of a status that the registration itself reports. */
export const REGISTRATION = "registration";

/** Proofs of a registration, and the permissions of its origin. */
export interface RegistrationEvidence {
  /** The id of the registering peer, if the daemon itself has identified it. */
  readonly proven_peer_id?: string | undefined;
  /** True if the kernel proves that this process or a descendant sends the registration. */
  readonly isProcess?: (pid: number) => boolean;
  /** As `isProcess`, the default, but a descendant that is another peer's does not count. */
  readonly isPeerProcess?: (pid: number) => boolean;
  /** True if the caller is proved to be a registered peer other than this one. */
  readonly isAnotherPeer?: (peer: StoredPeer) => boolean;
  /** Sent by an agent's hook, which names the agent's session. */
  readonly by_hook?: boolean;
  /** True if the agent itself reports its session, by its hook or its plugin. */
  readonly provesSession?: boolean;
  /** The first process of its pane, if the pane's terminal has reported it. */
  readonly pane_pid?: number | undefined;
  /** The claims of the verified certificate that came with it. */
  readonly certificate?: Claims | undefined;
  /** The circle of its pane, for a new peer that names no circle. */
  readonly pane_circle?: string | undefined;
  /** True if the registration names no path, so that a known path stays. */
  readonly omitsPath?: boolean;
  /** Sent by a WebSocket client, which may prove its identity by a `client_id`. */
  readonly isClient?: boolean;
  /** True if a new peer, or a peer with a proved identity, gets a birth certificate. */
  readonly getsCertificate?: boolean;
  /** Surfaces and bridges may use the human's aliases. */
  readonly is_surface?: boolean;
}

/** The pane of a registration, if tmux reports it, and the pane's circle (contract 1). */
export interface RegistrationPlace {
  readonly pane?: PaneRoot | undefined;
  /** Undefined if the registration names a circle, or if panes decide no circle. */
  readonly pane_circle?: string | undefined;
}

export interface ExpectedRegistration {
  readonly registration: Registration;
  readonly evidence: RegistrationEvidence;
}

/** Questions of the registry to higher features. */
export interface PeerPorts {
  /** Completes a registration that was expected, with its place, its name or its peer. */
  expectedRegistration(
    registration: Registration,
    evidence: RegistrationEvidence,
  ): ExpectedRegistration;
  /** True if this process belongs to an execution that a restart is replacing. */
  isSuperseded(peer_id: string, agent_pid: number | null): boolean;
}

export class Admission {
  readonly #ctx: Context;
  readonly #deps: RegistryDeps;
  /** Number of peers that are admitted before the records are counted again, which is slow. */
  #freeRecords = 0;

  constructor(ctx: Context, deps: RegistryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Throws `peers_full` at the limit of live peers or of records. The human is always admitted. */
  mustHaveRoom({ role }: Registration, before: StoredPeer | undefined): void {
    if (role === "human" || before && isLive(before)) return;
    const live = rows.liveCount(this.#ctx.db);
    if (live >= LIVE_PEERS_MAX) throw new Problem("peers_full", { peers: live, kind: "live" });
    if (before && before.dropped_at === null) return;
    if (this.#freeRecords === 0) this.#countRecords();
    this.#freeRecords--;
  }

  #countRecords(): void {
    const records = rows.recordCount(this.#ctx.db);
    if (records >= PEER_RECORDS_MAX) {
      throw new Problem("peers_full", { peers: records, kind: "known" });
    }
    this.#freeRecords = PEER_RECORDS_MAX - records;
  }

  newPeer(registration: Registration, evidence: RegistrationEvidence): StoredPeer {
    const { db, ids, clock } = this.#ctx;
    const { peer_id, id_proof } = this.#newId();
    const circle = circleOfRegistration(this.#deps, registration, evidence);
    const metadata = registration.metadata ?? {};
    const role = registration.role ?? "agent";
    const facts = this.#factsOf(registration);
    return {
      ...facts,
      agent_proved: isProved(undefined, facts, evidence),
      session_proved: isSessionProved(undefined, facts, evidence),
      peer_id,
      id_proof,
      circle,
      name: freeName(db, { name: newName(db, registration), circle, peer_id }),
      role,
      status: "online",
      ...this.#statusOf(registration),
      description: null,
      described_at: null,
      metadata,
      tags: tagsOf(registration) ?? [],
      reminders: null,
      queue_max: null,
      pair_per_minute: null,
      hook_messages: true,
      wake_policy: null,
      mesh_session_id: ids.next("ms"),
      client_key: null,
      certified: false,
      ...provenanceOf(registration.provenance ?? {}, { metadata, role }),
      last_delivery_at: null,
      last_delivery_failure_at: null,
      registered_at: clock.now(),
      closed: false,
    };
  }

  /**
   * The record after a new registration. Fields of the registration replace known fields; other
   * fields stay. The turn state is cleared, and the process, too, if it has ended.
   */
  renewedPeer(
    before: StoredPeer,
    givenRegistration: Registration,
    evidence: RegistrationEvidence,
  ): StoredPeer {
    const path = evidence.omitsPath && before.path || givenRegistration.path;
    const registration = { ...givenRegistration, path };
    const { db, ids } = this.#ctx;
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
      ...(hasEnded(this.#deps, before) && { agent_pid: null, agent_started: null }),
      ...knownFacts,
    };
    return {
      ...facts,
      agent_proved: isProved(before, facts, evidence),
      session_proved: isSessionProved(before, facts, evidence),
      circle,
      name: freeName(db, { name, circle, peer_id }),
      role,
      status: peerMachine.step(before.status, event),
      ...this.#statusOf(registration),
      metadata,
      mesh_session_id: newSession ? ids.next("ms") : before.mesh_session_id,
      source: inferSource(before.source, metadata),
      tags: tagsOf(registration) ?? before.tags,
      ...(provenance && provenanceOf(provenance, { metadata, role })),
    };
  }

  #newId(): NewPeerId {
    let made = this.#deps.peerIds.next();
    while (rows.address(this.#ctx.db, made.peer_id)) made = this.#deps.peerIds.next();
    return made;
  }

  /** The status of a peer that registers now. */
  #statusOf(registration: Registration) {
    const now = this.#ctx.clock.now();
    const turn_state = registration.turn_state ?? null;
    return {
      turn_state,
      turn_at: turn_state && now,
      turn_by: turn_state && REGISTRATION,
      status_by: REGISTRATION,
      status_at: now,
      last_seen: now,
      offline_reason: null,
      dropped_at: null,
    };
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
      claimed_pane_id: pane_id ?? null,
      backend: role === "human" ? null : backend,
      model: model ?? null,
      agent_pid: agent_pid ?? null,
      agent_started: startTimeOf(this.#deps, registration) ?? null,
      runtime_session_id: runtime_session_id ?? null,
    };
  }
}

/** True if the process is proved. A proof holds for one process, not for its reused pid. */
function isProved(
  before: StoredPeer | undefined,
  { agent_pid, agent_started }: Pick<StoredPeer, "agent_pid" | "agent_started">,
  { isProcess, isPeerProcess = isProcess }: RegistrationEvidence,
): boolean {
  if (agent_pid === null) return false;
  const isSame = agent_pid === before?.agent_pid && agent_started === before.agent_started;
  return isPeerProcess?.(agent_pid) || (isSame && before.agent_proved);
}

/** True if the agent has reported its session. That holds for one session in one process. */
function isSessionProved(
  before: StoredPeer | undefined,
  now: Pick<StoredPeer, "runtime_session_id" | "agent_pid" | "agent_started">,
  { provesSession = false }: RegistrationEvidence,
): boolean {
  if (now.runtime_session_id === null) return false;
  const isSame = now.runtime_session_id === before?.runtime_session_id &&
    now.agent_pid === before.agent_pid && now.agent_started === before.agent_started;
  return provesSession || (isSame && before.session_proved);
}

/** The tags that a registration names, each once; undefined if it names none. */
function tagsOf({ tags }: Registration): string[] | undefined {
  return tags && [...new Set(tags)].sort();
}

/** The circle of a registration (contract 1). */
export function circleOfRegistration(
  { circle_boundary }: Pick<RegistryDeps, "circle_boundary">,
  registration: Registration,
  { pane_circle }: RegistrationEvidence,
): string {
  return circleOf(registration, { boundary: circle_boundary, pane_circle });
}

/** A complete provenance; an `unknown` source is inferred from metadata (contract 3). */
export function provenanceOf(
  provenance: Provenance,
  { metadata, role }: Pick<Peer, "metadata" | "role">,
) {
  return {
    source: inferSource(provenance.source ?? "unknown", metadata),
    initiator: provenance.initiator ?? null,
    parent_runtime_id: provenance.parent_runtime_id ?? null,
    ephemeral: provenance.ephemeral ?? false,
    addressable: role === "human" || (provenance.addressable ?? true),
    addressable_reason: provenance.addressable_reason ?? null,
  };
}

function inferSource(source: Peer["source"], metadata: Peer["metadata"]): Peer["source"] {
  if (source !== "unknown") return source;
  const { transport, hook_version } = metadata;
  if (typeof transport === "string" && /app.?server/i.test(transport)) return "backend-app-server";
  return (hook_version ?? null) === null ? "unknown" : "hook";
}
