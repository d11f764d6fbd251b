/** The tools' schemas, their descriptions, and the arguments that they refuse. */

import assert from "node:assert/strict";
import { registerPeer } from "protocol/peers/contract.ts";
import { connectDaemon, relayFixture } from "../../support/relay/composed_relay.ts";
import { connectApp, grantToken, PROTOCOL_VERSIONS } from "../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";

/** The tools of specification 4. A question mark follows an optional argument. */
// deno-fmt-ignore
const SIGNATURES: [tool: string, isReadOnly: boolean, takes: string, gives: string][] = [
  ["list_machines", true,  "",                                   "machines"],
  ["list_agents",   true,  "daemon_id circle?",                  "daemon_id agents"],
  ["ask_agent",     false, "daemon_id peer_id message",          "daemon_id peer_id request_id status"],
  ["send_message",  false, "daemon_id peer_id message",          "daemon_id peer_id delivery_id delivery_state delivered queued"],
  ["get_reply",     true,  "daemon_id request_id wait_seconds?", "daemon_id request_id status reply outcome close_reason responder"],
  ["list_requests", true,  "daemon_id",                          "daemon_id requests"],
];
for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: tools/list has exactly the six tools, with any scope [4.relay.rule-5] [4.relay.tools]`, async () => {
    await using at = relayFixture();
    await using app = await connectApp(
      at,
      grantToken(at, "t1", { scope: "agents:read" }),
      protocolVersion,
    );
    assert.deepEqual(app.tools.map(({ name }) => name), SIGNATURES.map(([name]) => name));
    for (const [name, isReadOnly, takes, gives] of SIGNATURES) {
      const tool = app.tools.find((tool) => tool.name === name);
      const { properties = {}, required = [] } = tool?.inputSchema ?? {};
      const taken = Object.keys(properties).map((key) => required.includes(key) ? key : `${key}?`);
      assert.equal(taken.join(" "), takes, name);
      assert.equal(tool?.inputSchema["additionalProperties"], false, name);
      const given = Object.keys(tool?.outputSchema?.properties ?? {});
      assert.equal(given.join(" "), `${gives} error detail may_have_been_delivered`, name);
      const { readOnlyHint, destructiveHint, openWorldHint } = tool?.annotations ?? {};
      assert.deepEqual(
        [readOnlyHint, destructiveHint, openWorldHint],
        [isReadOnly, false, false],
        name,
      );
    }
  });
}

Deno.test("descriptions promise no push, no exactly-once delivery and no storage [4.relay.rule-6] [4.relay.rule-9]", async () => {
  await using at = relayFixture();
  await using app = await connectApp(at, grantToken(at, "t1"));
  const descriptionOf = (name: string) =>
    app.tools.find((tool) => tool.name === name)?.description ?? "";
  assert.match(descriptionOf("ask_agent"), /never pushed to you/);
  assert.match(descriptionOf("ask_agent"), /no exactly-once guarantee/);
  assert.match(descriptionOf("ask_agent"), /may lose requests when its daemon restarts/);
  assert.match(descriptionOf("list_requests"), /outstanding work only/);
  assert.match(descriptionOf("send_message"), /may only be queued/);
});

// deno-fmt-ignore
const INVALID: [why: string, tool: string, given: Record<string, unknown>, pattern: RegExp][] = [
  ["no machine",                  "list_agents",   {},                                                              /daemon_id/],
  ["a parameter of its own",      "list_agents",   { daemon_id: MACHINE_ID, status: "online" },                           /status/],
  ["a name for an id",            "ask_agent",     { daemon_id: MACHINE_ID, peer: "web", message: "Hi" },                 /peer_id/],
  ["a key that is not offered",   "ask_agent",     { daemon_id: MACHINE_ID, peer_id: "p", message: "Hi", idempotency_key: "k" }, /idempotency_key/],
  ["no message",                  "ask_agent",     { daemon_id: MACHINE_ID, peer_id: "p", message: "" },                  /message/],
  ["64,001 bytes",                "send_message",  { daemon_id: MACHINE_ID, peer_id: "p", message: "x".repeat(64_001) },  /64000 bytes/],
  ["64,002 bytes in 21,334 signs", "ask_agent",    { daemon_id: MACHINE_ID, peer_id: "p", message: "€".repeat(21_334) },  /64000 bytes/],
  ["a NUL",                       "ask_agent",     { daemon_id: MACHINE_ID, peer_id: "p", message: "a\0b" },              /NUL/],
  ["less than no time",           "get_reply",     { daemon_id: MACHINE_ID, request_id: "ask-1", wait_seconds: -1 },      /wait_seconds/],
  ["a time in words",             "get_reply",     { daemon_id: MACHINE_ID, request_id: "ask-1", wait_seconds: "five" },  /wait_seconds/],
  ["a circle that is no name",    "list_agents",   { daemon_id: MACHINE_ID, circle: "a b" },                              /circle/],
];
for (const [why, tool, given, pattern] of INVALID) {
  Deno.test(`a tool refuses ${why} with a reason and sends no request [8.relay.get-reply]`, async () => {
    await using at = relayFixture();
    await using app = await connectApp(at, grantToken(at, "t1"));
    const { refused, data } = await app.call(tool, given);
    assert.deepEqual([refused, data["error"], data["may_have_been_delivered"]], [
      true,
      "invalid_request",
      false,
    ]);
    assert.match(String(data["detail"]), pattern);
    assert.deepEqual(at.machines.forwarded, []);
  });
}

Deno.test("a message of exactly 64,000 bytes is delivered unchanged", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const body = { name: "web", path: "/srv", backend: "codex" as const };
  const { peer_id } = await w.call(registerPeer, { body });
  await using app = await connectApp(at, grantToken(at, "t1"));
  const message = "x".repeat(64_000);
  const { refused } = await app.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message });
  assert.equal(refused, false);
  const { data } = await app.call("list_requests", { daemon_id: MACHINE_ID });
  const [{ message: shown } = { message: "" }] = data["requests"] as { message: string }[];
  assert.equal(shown, `${"x".repeat(2000)}…`);
});
