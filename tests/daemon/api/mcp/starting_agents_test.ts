/** Messages of an agent that starts are delivered as soon as its MCP client has the tools. */

import assert from "node:assert/strict";
import type { Adapter } from "../../../../daemon/features/agents/adapter.ts";
import { recordingAgent } from "../../../support/agents/accepting_adapter.ts";
import { FakeProcesses, FakeSockets, world } from "../../../support/world.ts";

const AGENT = 40;
const CLIENT = 41;

const HEADERS = {
  "accept": "application/json, text/event-stream",
  "content-type": "application/json",
};
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "agent", version: "1" },
  },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };

/** A world with a message that waits for an agent, which starts to accept messages now. */
async function waitingMessage() {
  const processes = new FakeProcesses();
  processes.start(AGENT);
  processes.start(CLIENT, AGENT);
  const sockets = new FakeSockets();
  sockets.holders = [CLIENT, AGENT];
  const { adapter, framed } = recordingAgent();
  let isReady = false;
  const starting = { ready: false, reason: "starting" } as const;
  const check = () => Promise.resolve(isReady ? { ready: true as const } : starting);
  const transports: Adapter["transports"] = (...args) =>
    adapter.transports(...args).map((transport) => ({ ...transport, check }));
  const adapters = [{ ...adapter, transports }];
  const w = world({ processes, sockets, adapters });
  const peer = { name: "api", backend: "generic", path: "/", agent_pid: AGENT };
  assert.equal((await w.post("/peers", peer)).status, 200);
  await w.post("/notify", { from_peer: "cli", to_peer: "api", text: "Hello" });
  await w.clock.settle();
  assert.deepEqual(framed, []);
  isReady = true;
  const send = async (body: object, pid: number) => {
    const { status } = await w.post("/mcp", body, { ...HEADERS, "x-mesh-pid": String(pid) });
    assert.equal(status, 200);
    await w.clock.settle();
  };
  return { w, framed, send, sockets };
}

Deno.test("a queued message is delivered once the client has listed its tools, before any tick", async () => {
  const { w, framed, send } = await waitingMessage();
  await using _w = w;
  await send(INITIALIZE, CLIENT);
  assert.deepEqual(framed, [], "its model has no tools yet");
  await send(LIST, CLIENT);
  assert.match(framed.join(), /Hello/);
});

Deno.test("a client in its own pid namespace is recognised by the pid that the kernel reports", async () => {
  const { w, framed, send } = await waitingMessage();
  await using _w = w;
  const PID_IN_NAMESPACE = 2;
  await send(INITIALIZE, PID_IN_NAMESPACE);
  assert.deepEqual(framed, []);
  await send(LIST, PID_IN_NAMESPACE);
  assert.match(framed.join(), /Hello/);
});

Deno.test("a client whose process the kernel does not name delivers nothing", async () => {
  const { w, framed, send, sockets } = await waitingMessage();
  await using _w = w;
  sockets.holders = [];
  await send(LIST, CLIENT);
  assert.deepEqual(framed, []);
});
