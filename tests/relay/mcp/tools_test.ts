/** The remote tools list_machines, list_agents, ask_agent and send_message, with real daemons. */

import assert from "node:assert/strict";
import { ackAsk, pendingAsks } from "protocol/asks/contract.ts";
import { offlinePeer, setPeerProvenance } from "protocol/peers/contract.ts";
import type { World } from "../../support/world.ts";
import {
  connectDaemon,
  NAMESPACE,
  OTHER_NAMESPACE,
  registerAgent,
  relayFixture,
} from "../../support/relay/composed_relay.ts";
import {
  ALL_SCOPES,
  connectApp,
  grantToken,
  PROTOCOL_VERSIONS,
} from "../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";
const OTHER_MACHINE_ID = "dm-000000000002";

/** Advances the daemon's clock until the call has ended. Even a wait of 0 s needs its clock. */
async function advanceUntilSettled<T>(w: World, call: Promise<T>): Promise<T> {
  let over = false;
  const done = call.finally(() => over = true);
  while (!over) await w.clock.advance(0);
  return await done;
}

for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: an app finds an agent, gives it a task and fetches the reply [4.relay.ask-agent] [4.relay.get-reply] [2.relay.request]`, async () => {
    await using at = relayFixture();
    await using w = connectDaemon(at, MACHINE_ID);
    const peer_id = await registerAgent(w, "web", { model: "m-1" });
    await using app = await connectApp(at, grantToken(at, "t1"), protocolVersion);
    const machines = await app.call("list_machines");
    assert.deepEqual(machines.data, {
      machines: [{
        daemon_id: MACHINE_ID,
        machine: `${MACHINE_ID}.local`,
        connected_at: "2030-01-01T00:00:00.000Z",
      }],
    });
    const agents = await app.call("list_agents", { daemon_id: MACHINE_ID });
    assert.deepEqual(agents.data, {
      daemon_id: MACHINE_ID,
      agents: [{
        peer_id,
        display_name: "web",
        circle: "default",
        backend: "codex",
        status: "online",
        turn_state: null,
        description: null,
        model: "m-1",
        project: "shop",
      }],
    });
    const given = { daemon_id: MACHINE_ID, peer_id, message: "Which port?" };
    const asked = await app.call("ask_agent", given);
    const request_id = String(asked.data["request_id"]);
    assert.deepEqual(asked.data, { daemon_id: MACHINE_ID, peer_id, request_id, status: "pending" });
    const waited = await advanceUntilSettled(
      w,
      app.call("get_reply", { daemon_id: MACHINE_ID, request_id }),
    );
    assert.deepEqual(waited.data, { daemon_id: MACHINE_ID, request_id, status: "pending" });
    await w.call(ackAsk, { body: { correlation_id: request_id, message: "Port <8080>" } });
    const reply = await app.call("get_reply", { daemon_id: MACHINE_ID, request_id });
    assert.deepEqual(reply.data, {
      daemon_id: MACHINE_ID,
      request_id,
      status: "resolved",
      reply: "Port <8080>",
      outcome: "answered",
      close_reason: "ack_with_msg",
      responder: "web",
    });
    assert.match(reply.text, /<agent-reply from="web">Port &lt;8080&gt;<\/agent-reply>/);
    assert.deepEqual([...app.types], ["application/json"]);
  });
}

Deno.test("list_machines returns the connected machines of this secret only [4.relay.list-machines] [4.relay.rule-3]", async () => {
  await using at = relayFixture();
  const silent = () => Promise.resolve(new Response());
  at.machines.connect(NAMESPACE, MACHINE_ID, silent);
  at.machines.connect(NAMESPACE, OTHER_MACHINE_ID, silent);
  at.machines.connect(OTHER_NAMESPACE, "dm-000000000003", silent);
  await using app = await connectApp(at, grantToken(at, "t1", { scope: "agents:read" }));
  const ids = async () => {
    const { machines } = (await app.call("list_machines")).data;
    return (machines as { daemon_id: string }[]).map(({ daemon_id }) => daemon_id);
  };
  assert.deepEqual(await ids(), [MACHINE_ID, OTHER_MACHINE_ID]);
  at.machines.cut(NAMESPACE, MACHINE_ID);
  assert.deepEqual(await ids(), [OTHER_MACHINE_ID]);
});

Deno.test("list_agents returns online agents, but no human and no service [4.relay.list-agents]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const lead = await registerAgent(w, "lead", { role: "orchestrator", circle: "front" });
  await registerAgent(w, "bot", { role: "service" });
  await registerAgent(w, "sam", { role: "human" });
  const gone = await registerAgent(w, "gone");
  await w.call(offlinePeer, { params: { id: gone }, query: {}, body: {} });
  const deaf = await registerAgent(w, "deaf");
  const shut = { params: { id: deaf }, query: {}, body: { addressable: false } };
  await w.call(setPeerProvenance, shut);
  await using app = await connectApp(at, grantToken(at, "t1", { scope: "agents:read" }));
  const ids = async (more = {}) => {
    const { agents } = (await app.call("list_agents", { daemon_id: MACHINE_ID, ...more })).data;
    return (agents as { peer_id: string }[]).map(({ peer_id }) => peer_id).sort();
  };
  assert.deepEqual(await ids(), [web, lead].sort());
  assert.deepEqual(await ids({ circle: "front" }), [lead]);
});

// deno-fmt-ignore
const NO_TARGETS: [why: string, role: string | undefined, target: (id: string, name: string) => string][] = [
  ["a display name",     undefined,  (_, name) => name],
  ["nothing known",      undefined,  () => "peer-ffffffffffff"],
  ["an id in capitals",  undefined,  (id) => id.toUpperCase()],
  ["an alias",           "human",    () => "dashboard"],
  ["the human",          "human",    (id) => id],
  ["a service",          "service",  (id) => id],
  ["a step in a path",   undefined,  () => ".."],
  ["half a letter",      undefined,  () => "\ud800"],
  ["a way elsewhere",    undefined,  () => "../health"],
];
for (const [why, role, target] of NO_TARGETS) {
  Deno.test(`a target must be the exact peer_id of an agent, not ${why} [4.relay.rule-1]`, async () => {
    await using at = relayFixture();
    await using w = connectDaemon(at, MACHINE_ID);
    const id = await registerAgent(w, "web", role ? { role } : {});
    await using app = await connectApp(at, grantToken(at, "t1"));
    for (const tool of ["ask_agent", "send_message"]) {
      const given = { daemon_id: MACHINE_ID, peer_id: target(id, "web"), message: "Hello" };
      const { refused, data, text } = await app.call(tool, given);
      assert.deepEqual([refused, data["error"], data["may_have_been_delivered"]], [
        true,
        "unknown_peer",
        false,
      ]);
      assert.match(text, /Display names are not accepted/);
    }
    const { asks } = await w.call(pendingAsks, { query: { peer_id: id } });
    assert.deepEqual(asks, []);
    assert.ok(!w.events.some(({ type }) => type === "notification" || type === "ask"));
  });
}

Deno.test("an unknown or offline machine is an error, never another machine [4.relay.rule-2] [4.relay.rule-7] [7.relay.offline]", async () => {
  await using at = relayFixture();
  await using here = connectDaemon(at, MACHINE_ID);
  await using there = connectDaemon(at, OTHER_MACHINE_ID);
  const peer_id = await registerAgent(here, "web");
  assert.equal(await registerAgent(there, "web"), peer_id, "The same id on both machines");
  at.machines.cut(NAMESPACE, OTHER_MACHINE_ID);
  await using app = await connectApp(at, grantToken(at, "t1"));
  // deno-fmt-ignore
  const calls: [tool: string, given: Record<string, unknown>][] = [
    ["list_agents",   {}],
    ["ask_agent",     { peer_id, message: "Hello" }],
    ["send_message",  { peer_id, message: "Hello" }],
    ["get_reply",     { request_id: "ask-000000000001" }],
    ["list_requests", {}],
  ];
  for (const [tool, given] of calls) {
    for (
      const [daemon_id, error] of [[OTHER_MACHINE_ID, "machine_offline"], [
        "dm-ffffffffffff",
        "unknown_machine",
      ]]
    ) {
      const { refused, data } = await app.call(tool, { daemon_id, ...given });
      assert.deepEqual([refused, data["error"]], [true, error], tool);
      assert.equal(data["may_have_been_delivered"], false, tool);
    }
  }
  assert.ok(!here.events.some(({ type }) => type === "ask" || type === "notification"));
});

// deno-fmt-ignore
const FAILED_REQUESTS: [tool: string, path: RegExp, when: "before" | "after", code: "timed_out" | "machine_offline", may: boolean][] = [
  ["ask_agent",    /^\/health$/, "after",  "timed_out",       false],
  ["ask_agent",    /^\/peers\//, "after",  "machine_offline", false],
  ["ask_agent",    /^\/ask$/,    "before", "machine_offline", false],
  ["ask_agent",    /^\/ask$/,    "after",  "timed_out",       true],
  ["ask_agent",    /^\/ask$/,    "after",  "machine_offline", true],
  ["send_message", /^\/peers\//, "after",  "timed_out",       false],
  ["send_message", /^\/notify$/, "before", "timed_out",       false],
  ["send_message", /^\/notify$/, "after",  "machine_offline", true],
];
for (const [tool, path, when, code, may] of FAILED_REQUESTS) {
  Deno.test(`${tool}, cut off ${when} ${path.source}: ${code} with may_have_been_delivered [4.relay.rule-4]`, async () => {
    await using at = relayFixture();
    await using w = connectDaemon(at, MACHINE_ID);
    const peer_id = await registerAgent(w, "web");
    await using app = await connectApp(at, grantToken(at, "t1"));
    at.machines.nextFailure = { path, when, code };
    const { refused, data, text } = await app.call(tool, {
      daemon_id: MACHINE_ID,
      peer_id,
      message: "Hi",
    });
    assert.deepEqual([refused, data["error"]], [true, code]);
    const sent = at.machines.forwarded.filter(({ request }) =>
      /^\/(ask|notify)$/.test(request.path)
    );
    assert.ok(sent.length <= 1, "Nothing is sent again");
    const arrived = w.events.filter(({ type }) => type === "ask" || type === "notification");
    const isRead = !/ask|notify/.test(path.source);
    if (isRead) assert.deepEqual(sent, []);
    assert.equal(data["may_have_been_delivered"], may);
    assert.equal(arrived.length, when === "after" && !isRead ? 1 : 0);
    assert.equal(/may have been delivered/.test(text), may);
  });
}

Deno.test("every ask_agent call creates a new ask [4.relay.rule-4]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1"));
  const given = { daemon_id: MACHINE_ID, peer_id, message: "Run the tests" };
  await app.call("ask_agent", given);
  await app.call("ask_agent", given);
  const { asks } = await w.call(pendingAsks, { query: { peer_id } });
  assert.equal(asks.length, 2);
});

Deno.test("send_message returns the daemon's delivery state, such as queued [4.relay.send-message]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1"));
  const given = { daemon_id: MACHINE_ID, peer_id, message: "main is green" };
  const queued = await app.call("send_message", given);
  const delivery_id = String(queued.data["delivery_id"]);
  assert.match(delivery_id, /^notif-/);
  assert.deepEqual(queued.data, {
    daemon_id: MACHINE_ID,
    peer_id,
    delivery_id,
    delivery_state: "queued",
    delivered: false,
    queued: true,
  });
  const socket = w.socket();
  await socket.connect({ display_name: "api", capabilities: ["delivery_receipts"] });
  const [connected] = socket.of("connected");
  const sent = await app.call("send_message", { ...given, peer_id: connected?.peer_id ?? "" });
  assert.deepEqual([sent.data["delivery_state"], sent.data["queued"]], ["sent", false]);
});

Deno.test("the asker is the grant's own, and its asks are pulled", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await using app = await connectApp(at, grantToken(at, "t1", { asker: "mcp-00000000aaaa" }));
  await app.call("ask_agent", { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
  const { asks: [ask] } = await w.call(pendingAsks, { query: { peer_id } });
  assert.deepEqual([ask?.from_peer_name, ask?.from_peer_id, ask?.reply_delivery], [
    "mcp-00000000aaaa",
    null,
    "pull",
  ]);
});

Deno.test("a daemon without ask_pull_delivery gets no ask, and the error says to update it [4.relay.rule-8] [7.relay.old-daemon]", async () => {
  await using at = relayFixture();
  const paths: string[] = [];
  at.machines.connect(NAMESPACE, MACHINE_ID, (request) => {
    paths.push(`${request.method} ${new URL(request.url).pathname}`);
    return Promise.resolve(Response.json({ status: "ok", version: "0.0.1" }));
  });
  await using app = await connectApp(at, grantToken(at, "t1"));
  const given = { daemon_id: MACHINE_ID, peer_id: "peer-1", message: "Hello" };
  const { refused, data, text } = await app.call("ask_agent", given);
  assert.deepEqual([refused, data["error"], data["may_have_been_delivered"]], [
    true,
    "daemon_too_old",
    false,
  ]);
  assert.match(text, /update the mesh on that machine/);
  assert.ok(paths.every((route) => route.startsWith("GET ")), paths.join());
});

Deno.test("a peer that does not receive messages is refused before anything is sent", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  await w.call(setPeerProvenance, {
    params: { id: peer_id },
    query: {},
    body: { addressable: false },
  });
  await using app = await connectApp(at, grantToken(at, "t1"));
  for (const tool of ["ask_agent", "send_message"]) {
    const { data } = await app.call(tool, { daemon_id: MACHINE_ID, peer_id, message: "Hello" });
    assert.deepEqual([data["error"], data["may_have_been_delivered"]], [
      "peer_not_addressable",
      false,
    ]);
  }
});

Deno.test("an invalid response of a daemon is bad_daemon_answer", async () => {
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
    await using app = await connectApp(at, grantToken(at, "t1", { scope: ALL_SCOPES }));
    const given = { daemon_id: MACHINE_ID, peer_id: "peer-1", message: "Hello" };
    const { refused, data } = await app.call("ask_agent", given);
    assert.deepEqual([refused, data["may_have_been_delivered"]], [true, may]);
  }
});
