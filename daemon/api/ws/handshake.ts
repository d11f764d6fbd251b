/** The `/ws` handshake: identifies a connecting client and registers its peer (contract 4). */

import * as z from "zod";
import { Name } from "kit/core/schema.ts";
import { invalidRequest } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { Caller } from "kit/http/route.ts";
import { definitionOf } from "../../features/agents/registry.ts";
import type { Connect } from "../../features/messages/websocket/frames.ts";
import type { Identity } from "../../features/messages/websocket/session.ts";
import type { Certificates, Claims } from "../../features/peers/identity/certificates.ts";
import { loadTransliteration } from "../../features/peers/identity/transliteration.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { Peers } from "../../features/peers/peers.ts";
import type { RegistrationEvidence as Evidence } from "../../features/peers/registration.ts";
import type { RegistrationLocations } from "../../features/spawn/expected_registration.ts";
import type { Surfaces } from "../../features/inbox/surfaces.ts";
import type { Actors } from "../callers/acting_for.ts";
import type { Callers } from "../callers/callers.ts";
import { ALIASES, type Registration } from "protocol/peers/record.ts";
import { Backend } from "protocol/agents/contract.ts";
import { checkTerminal } from "../../host/trusted_socket.ts";

const ConnectFields = z.object({ display_name: Name, backend: Backend });

/** The kind of peer that a connection belongs to, and that peer's id if it is already known. */
interface ConnectingPeer extends z.output<typeof ConnectFields> {
  readonly kind: "peer" | "human" | "surface" | "bridge";
  readonly peer_id: string | undefined;
}

export interface HandshakeDeps {
  readonly actors: Pick<Actors, "isAnother">;
  readonly callers: Callers;
  readonly certificates: Certificates;
  readonly directory: Directory;
  readonly peers: Peers;
  readonly registrationLocations: RegistrationLocations;
  readonly surfaces: Surfaces;
}

export class Handshake {
  readonly #deps: HandshakeDeps;

  constructor(deps: HandshakeDeps) {
    this.#deps = deps;
  }

  /**
   * Registers the connection's peer and returns the session's identity. Throws a problem that
   * closes the socket.
   */
  async run(
    connect: Connect,
    caller: Pick<Caller, "remote">,
  ): Promise<Identity & { mesh_session_id: string | null }> {
    const checked = ConnectFields.safeParse(connect);
    if (!checked.success) throw invalidRequest(checked.error);
    const certificate = await this.#claimsOf(connect);
    const newcomer = this.#classify(connect, checked.data);
    const proven_peer_id = certificate || connect.peer_id ? undefined : newcomer.peer_id;
    const unresolved = toRegistration(connect, newcomer);
    if (!isPlugin(connect)) this.#deps.registrationLocations.mustBeTrustedSocket(unresolved);
    const { registration, pane_pid, pane_circle } = await this.#inPane(connect, unresolved);
    await loadTransliteration(registration.path);
    const peer_id = certificate?.peer_id ?? proven_peer_id;
    const claim = { ...registration, ...(peer_id && { peer_id }) };
    const peer = this.#deps.peers.register(claim, {
      certificate,
      proven_peer_id,
      pane_circle,
      pane_pid,
      provesSession: isPlugin(connect),
      is_surface: newcomer.kind !== "peer",
      isProcess: (pid) => this.#deps.callers.isProcess(pid, caller),
      isPeerProcess: (pid) => this.#deps.callers.isPeerProcess(pid, caller),
      isAnotherPeer: (known) => this.#deps.actors.isAnother(known, caller),
      omitsPath: connect.path === undefined,
      isClient: newcomer.kind === "peer" && !isPlugin(connect),
    });
    const { display_name, kind } = newcomer;
    return {
      peer_id: peer.peer_id,
      display_name: peer.name,
      mesh_session_id: peer.mesh_session_id,
      receipts: connect.capabilities.includes("delivery_receipts"),
      framed: connect.capabilities.includes("framed_text"),
      interrupts: connect.capabilities.includes("interrupt"),
      surface: kind === "peer" ? null : { name: display_name, bridge: kind !== "surface" },
    };
  }

  /**
   * The registration with what tmux reports of its pane. A plugin knows its pane but not the pane's
   * session, so the session's name is added. As with a hook, a pane is left out if its tmux server
   * must not be connected to. The agent is still reached through its socket.
   */
  async #inPane(
    connect: Connect,
    registration: Registration,
  ): Promise<{ registration: Registration } & Pick<Evidence, "pane_pid" | "pane_circle">> {
    const { circle, tmux_socket } = connect;
    if (isPlugin(connect) && tmux_socket && checkTerminal(tmux_socket).state === "refused") {
      const { pane_id: _pane, tmux_socket: _socket, ...withoutPane } = registration;
      return { registration: withoutPane };
    }
    const { pane, pane_circle } = await this.#deps.registrationLocations.placeOf(registration);
    const addsSession = isPlugin(connect) && !circle && pane !== undefined;
    return {
      registration: { ...registration, ...(addsSession && { tmux_session: pane.session }) },
      pane_pid: pane?.pane_pid,
      pane_circle,
    };
  }

  /**
   * Claims of the connection's certificate. If the connection also claims a `peer_id`, the
   * certificate must name the same peer.
   */
  async #claimsOf(connect: Connect): Promise<Claims | undefined> {
    if (!connect.birth_certificate) return undefined;
    const claims = await this.#deps.certificates.verify(connect.birth_certificate);
    if (connect.peer_id && connect.peer_id !== claims.peer_id) {
      throw new Problem("identity_not_proven", { peer_id: connect.peer_id });
    }
    return claims;
  }

  /**
   * Decides which kind of peer a connection belongs to. A surface is known by its name, and so is a
   * bridge that has an alias as its name. The newest connection with such a name is the current
   * one. Any other bridge is the human itself, and its first connection registers the human.
   * (Contract 2, "Human", and contract 4, "Surfaces".)
   */
  #classify(
    { role, capabilities }: Connect,
    fields: z.output<typeof ConnectFields>,
  ): ConnectingPeer {
    const { directory, surfaces } = this.#deps;
    const { display_name } = fields;
    const asSurface = { ...fields, peer_id: surfaces.peerOf(display_name) };
    if (capabilities.includes("inbox_surface")) return { ...asSurface, kind: "surface" };
    const human = directory.human();
    if (role === "human" && human?.name === display_name) {
      return { ...fields, kind: "human", peer_id: human.peer_id };
    }
    const alias = ALIASES.includes(display_name);
    if (alias && (role !== "human" || human)) return { ...asSurface, kind: "bridge" };
    return { ...fields, kind: role === "human" ? "human" : "peer", peer_id: undefined };
  }
}

/**
 * True if a connection is an agent's own plugin. Its kind of agent must use plugins, it must speak
 * for one process, and it must be neither the human nor a surface. The hooks' token opens only such
 * connections.
 */
export function isPlugin(connect: Connect): boolean {
  const { backend, role, peer_id, agent_pid, capabilities, display_name } = connect;
  const hasPlugin = definitionOf(backend)?.transports.includes("websocket") ?? false;
  return hasPlugin && capabilities.includes("framed_text") &&
    !capabilities.includes("inbox_surface") && !ALIASES.includes(display_name) &&
    (role ?? "agent") === "agent" && agent_pid !== undefined && peer_id === undefined;
}

/**
 * The registration of a connection's peer. Surfaces and bridges are registered as services of mesh,
 * which are not listed. A plugin sends no name, so a new agent gets the usual name, and a known
 * agent keeps its current name.
 */
function toRegistration(
  connect: Connect,
  { display_name, backend, kind }: ConnectingPeer,
): Registration {
  const { circle, path = "/", peer_id, agent_pid, model, metadata } = connect;
  const { runtime_session_id, pane_id, tmux_socket } = connect;
  const service = kind === "surface" || kind === "bridge";
  const role = service ? "service" : connect.role;
  return {
    ...(!isPlugin(connect) && { name: display_name }),
    backend,
    path,
    ...(role && { role }),
    ...(circle && { circle }),
    ...(peer_id && { peer_id }),
    ...(agent_pid && { agent_pid }),
    ...(runtime_session_id && { runtime_session_id }),
    ...(pane_id && tmux_socket && { pane_id, tmux_socket }),
    ...(model && { model }),
    ...(metadata && { metadata }),
    ...(service && { provenance: { initiator: "system" } }),
  };
}
