/** Greets `/ws` connections: who it is, by what proof, as which kind of peer (contract 4). */

import { z } from "zod";
import { Name } from "kit/contract.ts";
import { invalidRequest, Problem } from "kit/problem.ts";
import type { Daemon } from "./app.ts";
import type { Connect } from "./delivery/ws/frames.ts";
import type { Identity } from "./delivery/ws/session.ts";
import { Backend, type Registration } from "./peers/contract.ts";
import { ALIASES } from "./peers/directory.ts";

const Greeting = z.object({ display_name: Name, backend: Backend });

/** Registers the connection's peer; its session's identity, or a problem that closes the socket. */
export async function greet(
  daemon: Daemon,
  connect: Connect,
): Promise<Identity & { mesh_session_id: string | null }> {
  const checked = Greeting.safeParse(connect);
  if (!checked.success) throw invalidRequest(checked.error);
  const { display_name, backend } = checked.data;
  const surface = connect.capabilities.includes("inbox_surface");
  const bridge = connect.role === "human" || ALIASES.includes(display_name);
  const proven_peer_id = await proofOf(daemon, connect);
  const registration = toRegistration(connect, { display_name, backend, surface });
  const peer = daemon.peers.register(
    proven_peer_id ? { ...registration, peer_id: proven_peer_id } : registration,
    { proven_peer_id, reserved_names: surface || bridge },
  );
  return {
    peer_id: peer.peer_id,
    display_name: peer.name,
    mesh_session_id: peer.mesh_session_id,
    receipts: connect.capabilities.includes("delivery_receipts"),
    surface: surface ? display_name : null,
  };
}

/** The peer that a certificate names, or the human that a bridge speaks for. */
async function proofOf(daemon: Daemon, connect: Connect): Promise<string | undefined> {
  if (connect.birth_certificate) {
    const { peer_id } = await daemon.registry.check(connect.birth_certificate);
    if (connect.peer_id && connect.peer_id !== peer_id) {
      throw new Problem("identity_not_proven", { peer_id: connect.peer_id });
    }
    return peer_id;
  }
  const human = connect.role === "human" ? daemon.directory.human() : undefined;
  return human?.name === connect.display_name ? human.peer_id : undefined;
}

function toRegistration(
  connect: Connect,
  { display_name, backend, surface }: {
    display_name: string;
    backend: Backend;
    surface: boolean;
  },
): Registration {
  const { circle, path = "/", peer_id, agent_pid, model, metadata } = connect;
  const role = surface ? "service" : connect.role;
  return {
    name: display_name,
    backend,
    path,
    ...(role && { role }),
    ...(circle && { circle }),
    ...(peer_id && { peer_id }),
    ...(agent_pid && { agent_pid }),
    ...(model && { model }),
    ...(metadata && { metadata }),
    ...(surface && { provenance: { initiator: "system" } }),
  };
}
