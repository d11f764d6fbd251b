/** MCP clients of a complete daemon, with different identities. */

import { registerPeer } from "protocol/peers/contract.ts";
import { LOOPBACK, type World } from "../world.ts";
import { API_HEADERS, connect, type PROTOCOL_VERSIONS } from "./mcp_server.ts";

type ProtocolVersion = typeof PROTOCOL_VERSIONS[number];

/** Connects a client that checks each result against the tool's schema; returns its `call`. */
async function connectAs(
  w: World,
  protocolVersion: ProtocolVersion,
  headers: Record<string, string>,
) {
  const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  const at = await connect(send, { protocolVersion, headers });
  await at.client.listTools(); // After this, the client checks results against the schemas.
  return at;
}

/**
 * Three clients of the tools: @api (the agent in process 41), @web (by its certificate) and an
 * unknown caller. Dispose of it with `await using`.
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
    /** Adds another agent, in its own process. */
    async addAgent(name: string, more: { role?: "human"; circle?: string; path?: string } = {}) {
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
