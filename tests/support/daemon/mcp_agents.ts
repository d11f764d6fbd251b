/** Agents at the tools of a whole daemon: who they are, and how they speak. */

import { registerPeer } from "../../../daemon/features/peers/contract.ts";
import { HERE, type World } from "../world.ts";
import { API, connect, type GENERATIONS } from "./mcp_server.ts";

type Generation = typeof GENERATIONS[number];

/** A client at the tools, on whose answers the schemas of these are checked; its `call`. */
async function client(w: World, generation: Generation, headers: Record<string, string>) {
  const send = (request: Request) => w.daemon.fetch(request, HERE);
  const at = await connect(send, { generation, headers });
  await at.client.listTools(); // From here on the client checks what it gets.
  return at;
}

/**
 * @api, whose agent is process 41, @web with its certificate, and a caller that nobody knows, each
 * at the tools. Dispose of it with `await using`.
 */
export async function agents(w: World, generation: Generation) {
  w.processes.start(41);
  const path = "/work", backend = "codex" as const;
  const first = await w.call(registerPeer, { body: { name: "api", path, backend, agent_pid: 41 } });
  const web = await w.call(registerPeer, { body: { name: "web", path, backend } });
  const proof = {
    "x-mesh-peer": web.peer_id,
    "x-mesh-certificate": web.birth_certificate ?? "",
  };
  const api = await client(w, generation, API);
  const other = await client(w, generation, proof);
  const nobody = await client(w, generation, {});
  return {
    api,
    web: other,
    nobody,
    ids: { api: first.peer_id, web: web.peer_id },
    /** Another agent, in a process of its own. */
    async enter(name: string, more: { role?: "human"; circle?: string } = {}) {
      const agent_pid = 100 + name.length;
      w.processes.start(agent_pid);
      await w.call(registerPeer, { body: { name, path, backend, agent_pid, ...more } });
      return await client(w, generation, { "x-mesh-pid": String(agent_pid) });
    },
    async [Symbol.asyncDispose]() {
      for (const at of [api, other, nobody]) await at.client.close();
    },
  };
}
