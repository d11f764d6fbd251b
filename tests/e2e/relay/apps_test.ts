/** Apps at a relay with real daemons, on loopback, by the official client. */

import assert from "node:assert/strict";
import { connectApp, WholeRelay } from "../../support/e2e/relay_apps_lab.ts";
import { NAMESPACE, RealDaemon, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";

/** Posts to a daemon itself, as an agent of that machine. */
async function post(url: string, path: string, body: unknown) {
  const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return await response.json();
}

async function agentOn({ url }: { url: string }, name: string): Promise<string> {
  const body = { name, path: "/srv/shop", backend: "codex" };
  return (await post(url, "/peers", body)).peer_id;
}

async function waitForTunnel({ relay }: WholeRelay, daemon_id: string): Promise<void> {
  await until(
    "the tunnel",
    () =>
      relay.machines.list(NAMESPACE).some((machine) => machine.daemon_id === daemon_id) ||
      undefined,
  );
}

Deno.test("two daemons and an app: it finds them, asks one, and reads the answer", async () => {
  await using relay = new WholeRelay();
  await using first = await RealDaemon.start(relay.issuer);
  await using second = await RealDaemon.start(relay.issuer);
  for (const { daemon_id } of [first, second]) await waitForTunnel(relay, daemon_id);
  const peer_id = await agentOn(first, "api");
  await agentOn(second, "web");
  await using app = await connectApp(relay.issuer);
  const { machines } = (await app.call("list_machines")).data;
  const ids = (machines as { daemon_id: string }[]).map(({ daemon_id }) => daemon_id);
  assert.deepEqual(ids.sort(), [first.daemon_id, second.daemon_id].sort());
  const { daemon_id } = first;
  const { agents } = (await app.call("list_agents", { daemon_id })).data;
  assert.deepEqual((agents as { peer_id: string }[]).map((agent) => agent.peer_id), [peer_id]);
  const asked = await app.call("ask_agent", { daemon_id, peer_id, message: "Which port?" });
  const { request_id } = asked.data;
  const open = await app.call("list_requests", { daemon_id });
  assert.equal((open.data["requests"] as unknown[]).length, 1);
  const elsewhere = await app.call("get_reply", { daemon_id: second.daemon_id, request_id });
  assert.equal(elsewhere.data["error"], "unknown_request");
  const waiting = app.call("get_reply", { daemon_id, request_id, wait_seconds: 20 });
  await post(first.url, "/ack", { correlation_id: request_id, message: "8080" });
  assert.deepEqual((await waiting).data, {
    daemon_id,
    request_id,
    status: "resolved",
    reply: "8080",
    outcome: "answered",
    close_reason: "ack_with_msg",
    responder: "api",
  });
  const sendResult = await app.call("send_message", { daemon_id, peer_id, message: "Thanks" });
  assert.equal(sendResult.data["delivery_state"], "queued");
  const tokens = [
    app.clientStore.savedTokens?.access_token ?? "",
    app.clientStore.savedTokens?.refresh_token ?? "",
  ];
  const lines = relay.logged.join("\n");
  for (const secret of [SECRET, ...tokens]) assert.ok(secret && !lines.includes(secret));
});

Deno.test("a daemon is killed before, between and after calls: each tool reports the true outcome", async () => {
  await using relay = new WholeRelay();
  await using first = await RealDaemon.start(relay.issuer);
  const { daemon_id, dir } = first;
  await waitForTunnel(relay, daemon_id);
  const peer_id = await agentOn(first, "api");
  await using app = await connectApp(relay.issuer);
  const asked = await app.call("ask_agent", { daemon_id, peer_id, message: "Which port?" });
  const { request_id } = asked.data;
  const waiting = app.call("get_reply", { daemon_id, request_id, wait_seconds: 20 });
  await until("the wait", () => relay.relay.machines.requests > 0 || undefined);
  await first.end("SIGKILL");
  const cut = await waiting;
  assert.deepEqual([cut.refused, cut.data["error"]], [true, "machine_offline"]);
  const calls: [string, Record<string, unknown>][] = [
    ["list_agents", {}],
    ["ask_agent", { peer_id, message: "Again?" }],
    ["send_message", { peer_id, message: "Hello" }],
    ["get_reply", { request_id }],
    ["list_requests", {}],
  ];
  for (const [tool, given] of calls) {
    const { refused, data } = await app.call(tool, { daemon_id, ...given });
    assert.deepEqual([refused, data["error"], data["may_have_been_delivered"]], [
      true,
      "machine_offline",
      false,
    ], tool);
  }
  assert.deepEqual((await app.call("list_machines")).data, { machines: [] });
  const again = await RealDaemon.start(relay.issuer, {}, dir);
  await using _again = {
    async [Symbol.asyncDispose]() {
      await again.end("SIGKILL");
    },
  };
  await waitForTunnel(relay, daemon_id);
  const still = await app.call("get_reply", { daemon_id, request_id });
  assert.equal(still.data["status"], "pending", "What was asked before is not lost");
  const { requests } = (await app.call("list_requests", { daemon_id })).data;
  assert.equal((requests as unknown[]).length, 1, "Nothing was sent again");
  await post(again.url, "/ack", { correlation_id: request_id, message: "8080" });
  const { data } = await app.call("get_reply", { daemon_id, request_id, wait_seconds: 5 });
  assert.equal(data["reply"], "8080");
});
