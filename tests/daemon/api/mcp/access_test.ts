/**
 * Access to `/mcp`: who is admitted, as whom, with which bodies; and the tools in a whole daemon.
 */

import assert from "node:assert/strict";
import * as z from "zod";
import { pendingAsks } from "protocol/asks/contract.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import { LOOPBACK, world } from "../../../support/world.ts";
import {
  type Answers,
  API_HEADERS,
  connect,
  mcpFixture,
  serveMcp,
  WEB_PEER,
} from "../../../support/daemon/mcp_server.ts";

// deno-fmt-ignore
const CALLERS: [why: string, headers: Record<string, string>, peer: string | null, proof: string][] = [
  ["the process of a registered agent",    { "x-mesh-pid": "41" },                                           "peer-api", "process"],
  ["an unknown process",                   { "x-mesh-pid": "42" },                                           null,       "none"],
  ["a malformed pid",                      { "x-mesh-pid": "41; 1" },                                        null,       "none"],
  ["a peer with its certificate",          { "x-mesh-peer": "peer-web", "x-mesh-certificate": "good" },      "peer-web", "certificate"],
  ["an unknown process, but a certificate",{ "x-mesh-pid": "42", "x-mesh-peer": "peer-web", "x-mesh-certificate": "good" }, "peer-web", "certificate"],
  ["another peer's certificate",           { "x-mesh-peer": "peer-api", "x-mesh-certificate": "good" },      null,       "none"],
  ["a peer_id without a certificate",      { "x-mesh-peer": "peer-web" },                                    null,       "none"],
  ["a bare pane header",                   { "x-mesh-pane": "%1" },                                          null,       "none"],
  ["nothing at all",                       {},                                                               null,       "none"],
];
for (const [why, headers, peer_id, proof] of CALLERS) {
  Deno.test(`whoami knows a caller only by its proof: ${why}`, async () => {
    const { fetch } = mcpFixture({
      "GET /peers/peer-api": () => ({ ...WEB_PEER, peer_id: "peer-api", name: "api" }),
      "GET /peers/peer-web": () => WEB_PEER,
    });
    await using at = await connect(fetch, { headers });
    const { data } = await at.call("whoami");
    const peer = z.object({ peer_id: z.string() }).nullable().parse(data["peer"]);
    assert.deepEqual([peer?.peer_id ?? null, data["proof"]], [peer_id, proof]);
    assert.equal(data["name"], peer_id?.replace("peer-", "") ?? "mcp-http");
  });
}

Deno.test("another machine is refused, whatever it sends", async () => {
  const { fetch } = mcpFixture();
  const remote = { transport: "tcp" as const, hostname: "192.0.2.7", port: 1 };
  for (const method of ["POST", "GET", "DELETE"]) {
    const response = await fetch(new Request("http://mesh/mcp", { method }), remote);
    assert.equal(response.status, 403);
    assert.equal((await response.json()).error, "loopback_only");
  }
});

Deno.test("without sessions and streams, GET and DELETE answer 405", async () => {
  const { fetch } = mcpFixture();
  for (const method of ["GET", "DELETE"]) {
    const response = await fetch(new Request("http://mesh/mcp", { method }));
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
  }
});

// deno-fmt-ignore
const BODIES: [why: string, body: string, type: string, status: number, code: unknown][] = [
  ["more than 1 MiB",      "x".repeat(1_048_577), "application/json", 413, "body_too_large"],
  ["malformed JSON",       "{",                   "application/json", 400, -32_700],
  ["nothing",              "",                    "application/json", 400, -32_700],
  ["another content type", "{}",                  "text/plain",       415, -32_000],
];
for (const [why, body, type, status, code] of BODIES) {
  Deno.test(`a body is refused that is: ${why}`, async () => {
    const headers = { "content-type": type, accept: "application/json, text/event-stream" };
    const post = new Request("http://mesh/mcp", { method: "POST", body, headers });
    const response = await mcpFixture().fetch(post);
    const problem = await response.json();
    assert.deepEqual([response.status, problem.error.code ?? problem.error], [status, code]);
  });
}

Deno.test("nothing can be subscribed to: no stream is ever opened", async () => {
  const { fetch } = mcpFixture();
  await using at = await connect(fetch, { protocolVersion: "2026-07-28" });
  assert.deepEqual(at.client.getServerCapabilities()?.tools, {});
  const method = "subscriptions/listen";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { _meta, notifications: { toolsListChanged: true } };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const post = new Request("http://mesh/mcp", { method: "POST", body, headers });
  const response = await fetch(post);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.match((await response.json()).error.message, /[Ss]ubscription/);
});

Deno.test("concurrent calls over a real socket on loopback are answered", async () => {
  const answers: Answers = { "GET /peers": () => ({ peers: [WEB_PEER] }) };
  await using at = serveMcp(answers);
  const send = (request: Request) => fetch(new Request(`${at.url}/mcp`, request));
  await using agent = await connect(send, { protocolVersion: "2026-07-28" });
  const many = await Promise.all(Array.from({ length: 20 }, () => agent.call("list_peers")));
  assert.equal(new Set(many.map(({ text }) => text)).size, 1);
});

Deno.test("a batch of an older protocol version is answered as one", async () => {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/list" }));
  const body = JSON.stringify([...batch, { jsonrpc: "2.0", method: "notifications/initialized" }]);
  const response = await mcpFixture().fetch(
    new Request("http://mesh/mcp", { method: "POST", body, headers }),
  );
  const answers = z.array(z.object({ id: z.number() })).parse(await response.json());
  assert.deepEqual(answers.map(({ id }) => id), [1, 2]);
});

Deno.test("in a whole daemon, one agent asks and the other answers", async () => {
  await using w = world();
  w.processes.start(41);
  const path = "/work";
  const api = { name: "api", path, backend: "codex" as const, agent_pid: 41 };
  await w.call(registerPeer, { body: api });
  const web = await w.call(registerPeer, { body: { name: "web", path, backend: "codex" } });
  const { peer_id, birth_certificate } = web;
  const proof = { "x-mesh-peer": peer_id, "x-mesh-certificate": birth_certificate ?? "" };
  const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  await using first = await connect(send, { protocolVersion: "2026-07-28", headers: API_HEADERS });
  await using second = await connect(send, { headers: proof });
  const asked = await first.call("ask", { peer: "web", message: "Which port?" });
  const { asks } = await w.call(pendingAsks, { query: { peer_id } });
  const id = String(asked.data["correlation_id"]);
  assert.deepEqual(asks.map((ask) => ask.correlation_id), [id]);
  const stranger = await first.call("ack", { correlation_id: id, message: "Mine" });
  assert.equal(stranger.data["error"], "not_the_recipient");
  await second.call("ack", { correlation_id: id, message: "8377" });
  const { data } = await first.call("wait_on_ack", { correlation_id: id });
  assert.deepEqual([data["reply"], data["responder"]], ["8377", "web"]);
});

Deno.test("in a whole daemon, a wait ends with the daemon's answer at its timeout", async () => {
  await using w = world();
  const body = { name: "web", path: "/work", backend: "codex" as const };
  await w.call(registerPeer, { body });
  const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  await using nobody = await connect(send, { headers: {} });
  const given = { peer: "web", message: "Why?", wait_seconds: 90 };
  let over = false;
  const waiting = nobody.call("ask", given).finally(() => over = true);
  while (!over) await w.clock.advance(10_000);
  const { data, text } = await waiting;
  assert.equal(data["status"], "pending");
  assert.match(text, /No reply to ask-\w+ in 50 s/);
});
