/** Agents at the tools of a whole daemon: who they are, and how they speak. */

import { registerPeer } from "../../../daemon/features/peers/contract.ts";
import { LOOPBACK, type World } from "../world.ts";
import { API_HEADERS, connect, type PROTOCOL_VERSIONS } from "./mcp_server.ts";

type ProtocolVersion = typeof PROTOCOL_VERSIONS[number];

/** A client at the tools, on whose answers the schemas of these are checked; its `call`. */
async function connectAs(
  w: World,
  protocolVersion: ProtocolVersion,
  headers: Record<string, string>,
) {
  const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  const at = await connect(send, { protocolVersion, headers });
  await at.client.listTools(); // From here on the client checks what it gets.
  return at;
}

/**
 * @api, whose agent is process 41, @web with its certificate, and a caller that nobody knows, each
 * at the tools. Dispose of it with `await using`.
 */
export async function agents(w: World, protocolVersion: ProtocolVersion) {
  w.processes.start(41);
  const path = "/work", backend = "codex" as const;
  const first = await w.call(registerPeer, { body: { name: "api", path, backend, agent_pid: 41 } });
  const web = await w.call(registerPeer, { body: { name: "web", path, backend } });
  const proof = {
    "x-mesh-peer": web.peer_id,
    "x-mesh-certificate": web.birth_certificate ?? "",
  };
  const api = await connectAs(w, protocolVersion, API_HEADERS);
  const other = await connectAs(w, protocolVersion, proof);
  const anonymous = await connectAs(w, protocolVersion, {});
  return {
    api,
    web: other,
    anonymous,
    ids: { api: first.peer_id, web: web.peer_id },
    /** Another agent, in a process of its own. */
    async addAgent(name: string, more: { role?: "human"; circle?: string } = {}) {
      const agent_pid = 100 + name.length;
      w.processes.start(agent_pid);
      await w.call(registerPeer, { body: { name, path, backend, agent_pid, ...more } });
      return await connectAs(w, protocolVersion, { "x-mesh-pid": String(agent_pid) });
    },
    async [Symbol.asyncDispose]() {
      for (const at of [api, other, anonymous]) await at.client.close();
    },
  };
}
