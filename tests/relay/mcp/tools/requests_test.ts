/** Tasks that an app has given: whose they are, how they end, what a daemon must be able to do. */

import assert from "node:assert/strict";
import { ackAsk, declineAsk, pendingAsks } from "../../../../daemon/features/asks/contract.ts";
import { offlinePeer, provePeer } from "../../../../daemon/features/peers/contract.ts";
import { connectDaemon, NAMESPACE, relayFixture } from "../../../support/relay/composed_relay.ts";
import { ALL_SCOPES, connectApp, grantToken } from "../../../support/relay/mcp_apps.ts";
import { advanceUntilSettled, peer } from "../../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";

Deno.test("the asker is the grant's identity, and always pulls", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await peer(w, "web");
  await using one = await connectApp(at, grantToken(at, "t1", { asker: "mcp-00000000aaaa" }));
  await one.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const { asks: [ask] } = await w.call(pendingAsks, { query: { peer_id } });
  assert.deepEqual([ask?.from_peer_name, ask?.from_peer_id, ask?.reply_delivery], [
    "mcp-00000000aaaa",
    null,
    "pull",
  ]);
});

Deno.test("another grant's request does not exist, whatever is asked of it [5.relay.asker] [4.relay.list-requests]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await peer(w, "web");
  await using one = await connectApp(at, grantToken(at, "t1", { asker: "mcp-00000000aaaa" }));
  await using two = await connectApp(
    at,
    grantToken(at, "t2", { asker: "mcp-00000000bbbb", grant_id: "mg_2" }),
  );
  const asked = await one.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const request_id = String(asked.data["request_id"]);
  const stolen = await two.call("get_reply", { daemon_id: MACHINE_ID, request_id });
  const none = await two.call("get_reply", {
    daemon_id: MACHINE_ID,
    request_id: "ask-ffffffffffff",
  });
  assert.deepEqual(stolen, none);
  assert.equal(stolen.data["error"], "unknown_request");
  const ownRequests = await one.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(ownRequests.data, {
    daemon_id: MACHINE_ID,
    requests: [{
      request_id,
      to_agent: peer_id,
      message: "Hello",
      created_at: "2030-01-01T00:00:00.000Z",
    }],
  });
  const otherRequests = await two.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(otherRequests.data, { daemon_id: MACHINE_ID, requests: [] });
  // A token that was refreshed is of the same grant, and so is its asker.
  await using again = await connectApp(at, grantToken(at, "t3", { asker: "mcp-00000000aaaa" }));
  const asking = again.call("get_reply", { daemon_id: MACHINE_ID, request_id });
  const { data } = await advanceUntilSettled(w, asking);
  assert.equal(data["status"], "pending");
});

Deno.test("a resolved request leaves list_requests, and may hold a reason without a text [4.relay.get-reply]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await peer(w, "web");
  await using one = await connectApp(at, grantToken(at, "t1"));
  const ask = async () => {
    const { data } = await one.call("ask_agent", {
      daemon_id: MACHINE_ID,
      peer_id,
      message: "Hello",
    });
    return String(data["request_id"]);
  };
  const [declined, bare, gone] = [await ask(), await ask(), await ask()];
  await w.call(declineAsk, { body: { correlation_id: declined, reason: "Not mine" } });
  await w.call(ackAsk, { body: { correlation_id: bare } });
  await w.call(offlinePeer, { params: { id: peer_id }, query: {}, body: { terminal: true } });
  const read = async (request_id: string) =>
    (await one.call("get_reply", { daemon_id: MACHINE_ID, request_id })).data;
  const expected = { daemon_id: MACHINE_ID, status: "resolved" };
  const by = { responder: "web" };
  const [first, second, third] = [await read(declined), await read(bare), await read(gone)];
  assert.deepEqual(first, {
    ...expected,
    ...by,
    request_id: declined,
    reply: "Not mine",
    outcome: "declined",
    close_reason: "declined",
  });
  assert.deepEqual(second, {
    ...expected,
    ...by,
    request_id: bare,
    outcome: "acknowledged",
    close_reason: "ack",
  });
  assert.deepEqual([third["close_reason"], "reply" in third], ["peer_retired", false]);
  const { data } = await one.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(data["requests"], []);
});

Deno.test("a wait that ends without a reply leaves the work running [4.relay.get-reply] [8.relay.get-reply]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await peer(w, "web");
  await using one = await connectApp(at, grantToken(at, "t1"));
  const asked = await one.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const request_id = String(asked.data["request_id"]);
  let over = false;
  const given = { daemon_id: MACHINE_ID, request_id, wait_seconds: 20 };
  const waiting = one.call("get_reply", given).finally(() => over = true);
  await w.clock.advance(19_000);
  assert.equal(over, false);
  while (!over) await w.clock.advance(1000);
  assert.equal((await waiting).data["status"], "pending");
  const again = one.call("get_reply", given);
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id: request_id, message: "Done" } });
  assert.equal((await again).data["reply"], "Done");
});

Deno.test("a daemon that cannot keep replies gets no task, and the app is told to update it [4.relay.rule-8] [7.relay.old-daemon]", async () => {
  await using at = relayFixture();
  const paths: string[] = [];
  at.machines.connect(NAMESPACE, MACHINE_ID, (request) => {
    paths.push(`${request.method} ${new URL(request.url).pathname}`);
    return Promise.resolve(Response.json({ status: "ok", version: "0.0.1" }));
  });
  await using one = await connectApp(at, grantToken(at, "t1"));
  const given = { daemon_id: MACHINE_ID, peer_id: "peer-1", message: "Hello" };
  const { refused, data, text } = await one.call("ask_agent", given);
  assert.deepEqual([refused, data["error"], data["may_have_been_delivered"]], [
    true,
    "daemon_too_old",
    false,
  ]);
  assert.match(text, /update the mesh on that machine/);
  assert.ok(paths.every((route) => route.startsWith("GET ")), paths.join());
});

Deno.test("a peer that takes no messages refuses before anything is sent", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await peer(w, "web");
  await w.call(provePeer, { params: { id: peer_id }, query: {}, body: { addressable: false } });
  await using one = await connectApp(at, grantToken(at, "t1"));
  for (const tool of ["ask_agent", "send_message"]) {
    const { data } = await one.call(tool, { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
    assert.deepEqual([data["error"], data["may_have_been_delivered"]], [
      "peer_not_addressable",
      false,
    ]);
  }
});

Deno.test("a daemon whose answers make no sense is told of as such, never guessed at", async () => {
  await using at = relayFixture();
  // deno-fmt-ignore
  const odd: [answer: () => Response, may: boolean][] = [
    [() => new Response("<html>"), true],
    [() => Response.json({ correlation_id: 5 }), true],
    [() => Response.json({ error: "internal" }, { status: 500 }), true],
    [() => Response.json({ error: "storage_failed", detail: "Full" }, { status: 503 }), false],
    [() => Response.json({ error: "queue_full", detail: "1,000 wait" }, { status: 429 }), false],
  ];
  for (const [answer, may] of odd) {
    at.machines.connect(NAMESPACE, MACHINE_ID, (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/ask") return Promise.resolve(answer());
      const capabilities = { ask_pull_delivery: true };
      const card = { peer_id: "peer-1", display_name: "web", status: "online", role: "agent" };
      return Promise.resolve(Response.json({ capabilities, ...card }));
    });
    await using one = await connectApp(at, grantToken(at, "t1", { scope: ALL_SCOPES }));
    const given = { daemon_id: MACHINE_ID, peer_id: "peer-1", message: "Hello" };
    const { refused, data } = await one.call("ask_agent", given);
    assert.deepEqual([refused, data["may_have_been_delivered"]], [true, may]);
  }
});
