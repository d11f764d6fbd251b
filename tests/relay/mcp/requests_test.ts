/** The remote tools get_reply and list_requests, with real daemons. */

import assert from "node:assert/strict";
import { ackAsk, declineAsk } from "protocol/asks/contract.ts";
import { offlinePeer } from "protocol/peers/contract.ts";
import type { World } from "../../support/world.ts";
import { connectDaemon, registerAgent, relayFixture } from "../../support/relay/composed_relay.ts";
import { connectApp, grantToken } from "../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";

/** Advances the daemon's clock until the call has ended. Even a wait of 0 s needs its clock. */
async function advanceUntilSettled<T>(w: World, call: Promise<T>): Promise<T> {
  let over = false;
  const done = call.finally(() => over = true);
  while (!over) await w.clock.advance(0);
  return await done;
}

Deno.test("another grant's request is unknown to every tool [5.relay.asker] [4.relay.list-requests]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1", { asker: "mcp-00000000aaaa" }));
  await using other = await connectApp(
    at,
    grantToken(at, "t2", { asker: "mcp-00000000bbbb", grant_id: "mg_2" }),
  );
  const asked = await app.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const request_id = String(asked.data["request_id"]);
  const stolen = await other.call("get_reply", { daemon_id: MACHINE_ID, request_id });
  const none = await other.call("get_reply", {
    daemon_id: MACHINE_ID,
    request_id: "ask-ffffffffffff",
  });
  assert.deepEqual(stolen, none);
  assert.equal(stolen.data["error"], "unknown_request");
  const ownRequests = await app.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(ownRequests.data, {
    daemon_id: MACHINE_ID,
    requests: [{
      request_id,
      to_agent: peer_id,
      message: "Hello",
      created_at: "2030-01-01T00:00:00.000Z",
    }],
  });
  const otherRequests = await other.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(otherRequests.data, { daemon_id: MACHINE_ID, requests: [] });
  // A refreshed token has the same grant and the same asker.
  await using again = await connectApp(at, grantToken(at, "t3", { asker: "mcp-00000000aaaa" }));
  const asking = again.call("get_reply", { daemon_id: MACHINE_ID, request_id });
  const { data } = await advanceUntilSettled(w, asking);
  assert.equal(data["status"], "pending");
});

Deno.test("a resolved request is not listed, and may have a reason without a text [4.relay.get-reply]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1"));
  const ask = async () => {
    const { data } = await app.call("ask_agent", {
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
    (await app.call("get_reply", { daemon_id: MACHINE_ID, request_id })).data;
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
  const { data } = await app.call("list_requests", { daemon_id: MACHINE_ID });
  assert.deepEqual(data["requests"], []);
});

Deno.test("a wait that ends without a reply does not end the request [4.relay.get-reply] [8.relay.get-reply]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1"));
  const asked = await app.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const request_id = String(asked.data["request_id"]);
  let over = false;
  const given = { daemon_id: MACHINE_ID, request_id, wait_seconds: 20 };
  const waiting = app.call("get_reply", given).finally(() => over = true);
  await w.clock.advance(19_000);
  assert.equal(over, false);
  while (!over) await w.clock.advance(1000);
  assert.equal((await waiting).data["status"], "pending");
  const again = app.call("get_reply", given);
  await w.clock.settle();
  await w.call(ackAsk, { body: { correlation_id: request_id, message: "Done" } });
  assert.equal((await again).data["reply"], "Done");
});
