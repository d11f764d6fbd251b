/** Identification: which known peer a registration is. */

import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { ProcessId } from "../../../host/processes.ts";
import type { RegistryDeps } from "../changes.ts";
import { isLive } from "../directory.ts";
import { circleOfRegistration, type RegistrationEvidence } from "../registration.ts";
import type { Registration } from "protocol/peers/record.ts";
import * as rows from "../store.ts";
import type { StoredPeer } from "../store.ts";
import { mustMatchPeer, mustMatchPresented } from "./certificates.ts";
import { mayJoinSession } from "./identity.ts";
import { hasEnded, knownPeerOf, startTimeOf } from "./known_peer.ts";
import { isSuffixed, unsuffixedPart } from "./naming.ts";
import { sha256 } from "kit/host/node_library.ts";

/** The key of a client's metadata. Only the client knows its value, so no record contains it. */
const CLIENT_ID = "client_id";

export class Identification {
  readonly #ctx: Context;
  readonly #deps: RegistryDeps;

  constructor(ctx: Context, deps: RegistryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Finds the known peer of a registration: by id, process, session, or name while offline. */
  find(registration: Registration, evidence: RegistrationEvidence): StoredPeer | undefined {
    const { db } = this.#ctx;
    const { peer_id, agent_pid, runtime_session_id, backend } = registration;
    if (peer_id) return this.#findClaimed(peer_id, registration, evidence);
    const { isProcess, isPeerProcess = isProcess } = evidence;
    const started = agent_pid && startTimeOf(this.#deps, registration);
    const process = started && isPeerProcess?.(agent_pid) ? { pid: agent_pid, started } : undefined;
    const byProcess = process ? this.#ofProcess(process, registration) : [];
    const bySession = runtime_session_id ? rows.bySession(db, runtime_session_id) : [];
    const joined = bySession.filter((peer) =>
      mayJoinSession(knownPeerOf(this.#deps, peer), {
        process,
        names_process: agent_pid !== undefined,
        by_hook: evidence.by_hook ?? false,
        is_from_peer: this.isProcessOf(peer, evidence),
      })
    );
    const found = [...byProcess, ...joined].find((peer) => peer.backend === backend);
    return found ?? this.#findClient(registration, evidence) ??
      this.#findOffline(registration, evidence);
  }

  #ofProcess({ pid: agent_pid, started }: ProcessId, registration: Registration) {
    const { backend, name, pane_id = null, runtime_session_id: session = null } = registration;
    const prefix = name === undefined ? null : unsuffixedPart(name);
    const params = { agent_pid, started, backend, prefix, pane_id, session };
    return rows.candidatesByProcess(this.#ctx.db, params)
      .filter((peer) => !isAnotherAgent(peer, registration));
  }

  /** The peer that the registration's `client_id` proves it to be, connected or not. */
  #findClient(registration: Registration, evidence: RegistrationEvidence): StoredPeer | undefined {
    const client_key = this.clientKeyOf(registration, evidence);
    const found = client_key === undefined ? undefined : rows.byClient(this.#ctx.db, client_key);
    return found && this.#isUnclaimed(found, registration) ? found : undefined;
  }

  /** True if no session and no other running process can claim to be this peer. */
  #isUnclaimed(peer: StoredPeer, { agent_pid }: Pick<Registration, "agent_pid">): boolean {
    const isOtherProcess = peer.agent_pid !== null && peer.agent_pid !== agent_pid;
    return peer.runtime_session_id === null && (!isOtherProcess || hasEnded(this.#deps, peer));
  }

  /**
   * The digest by which a WebSocket client's peer is found, of its `client_id`, and of the name, the
   * backend and the circle that it gives. Undefined without a `client_id`.
   */
  clientKeyOf(registration: Registration, evidence: RegistrationEvidence): string | undefined {
    const { name = null, backend, metadata } = registration;
    const client_id = metadata?.[CLIENT_ID];
    if (!evidence.isClient || typeof client_id !== "string" || client_id === "") return undefined;
    const circle = circleOfRegistration(this.#deps, registration, evidence);
    return sha256(JSON.stringify([client_id, name, backend, circle]), "hex");
  }

  /**
   * An offline peer of the same name, circle and backend that is identified only by these. A
   * WebSocket client replaces such a peer, unless the peer has a certificate; any other
   * registration must have the same path.
   */
  #findOffline(registration: Registration, evidence: RegistrationEvidence): StoredPeer | undefined {
    const { backend, path, runtime_session_id, agent_pid, pane_id, name } = registration;
    if (runtime_session_id || pane_id || !name) return undefined;
    if (agent_pid && !evidence.isClient) return undefined;
    const isClient = evidence.isClient ?? false;
    return rows.offlineByName(this.#ctx.db, {
      name,
      circle: circleOfRegistration(this.#deps, registration, evidence),
      backend,
      is_client: isClient ? 1 : 0,
      path: evidence.omitsPath ? null : path,
    })
      .find((peer) =>
        (!isClient || this.#isUnclaimed(peer, {})) && !evidence.isAnotherPeer?.(peer)
      );
  }

  /** True if the registration is proved to come from the process on a peer's record. */
  isProcessOf(
    { agent_pid, agent_started }: StoredPeer,
    { isProcess, isPeerProcess = isProcess }: RegistrationEvidence,
  ): boolean {
    if (agent_pid === null || agent_started === null || !isPeerProcess) return false;
    return this.#deps.processes.isAlive(agent_pid, agent_started) && isPeerProcess(agent_pid);
  }

  #findClaimed(peer_id: string, registration: Registration, evidence: RegistrationEvidence) {
    const found = rows.get(this.#ctx.db, peer_id);
    if (!found) return undefined;
    const { agent_pid, backend, name, circle } = registration;
    if (found.closed) throw new Problem("peer_retired", { peer_id });
    if (found.status === "retired" && !(agent_pid && startTimeOf(this.#deps, registration))) {
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
    const client_key = this.clientKeyOf(registration, evidence);
    const isClient = client_key !== undefined && client_key === found.client_key;
    if (isClient && this.#isUnclaimed(found, registration)) return found;
    const matches = backend === found.backend && (!name || name === found.name) &&
      (!circle || circle === found.circle);
    // The caller's own live process brings a retired peer back (specification 3).
    if (found.status === "retired" && matches && evidence.isProcess?.(agent_pid ?? 0)) return found;
    // A peer with a process, a session or a client's key is identified by these, never by its name.
    const isIdentified = found.agent_pid !== null || found.runtime_session_id !== null ||
      found.client_key !== null;
    const isTaken = isIdentified || this.#deps.reachability.isConnected(peer_id);
    if (isTaken || !matches || evidence.isAnotherPeer?.(found)) {
      throw new Problem("identity_not_proven", { peer_id });
    }
    return found;
  }
}

/**
 * True if a registration from the process of `peer` is for a different peer. A program may register
 * several peers under different names. An agent's hooks give no name.
 */
function isAnotherAgent(
  peer: StoredPeer,
  { name, pane_id, runtime_session_id }: Registration,
): boolean {
  if (!isLive(peer) || isSuffixed(peer.name, name)) return false;
  if (runtime_session_id && runtime_session_id === peer.runtime_session_id) return false;
  return !pane_id || pane_id !== peer.pane_id;
}

/** A registration without the `client_id`, which is neither stored nor shown. */
export function withoutClientId(registration: Registration): Registration {
  if (registration.metadata === undefined) return registration;
  const { [CLIENT_ID]: _, ...metadata } = registration.metadata;
  return { ...registration, metadata };
}
