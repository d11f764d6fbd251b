/** Asks without `to_peer`: order of checks, choice of the peer, reporting. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, ask, connectPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { askAnyone, assertNothing, leastBusyWorld } from "../../../../support/daemon/routing.ts";
import { restartableWorld } from "../../../../support/daemon/restartable.ts";

Deno.test("with `static`, an ask without to_peer is no_target, even if other fields are invalid", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const body of [{}, { text: 5 }, { text: "Hi", fallback_to: "bob", from_peer: "ada" }]) {
    const answer = await post(w, "/ask", body);
    assert.deepEqual([answer.status, answer.error], [400, "no_target"]);
    assert.equal(typeof answer.hint, "string");
  }
  await assertNothing(w);
});

Deno.test("with a strategy, an ask without to_peer is routed once its other fields are valid", async () => {
  await using w = leastBusyWorld();
  const bob = await addPeer(w, "bob");
  assert.deepEqual([(await post(w, "/ask", {})).status], [422]);
  assert.equal((await post(w, "/ask", { from_peer: "ada", text: "" })).error, "invalid_request");
  const { routing, ...answer } = await askAnyone(w);
  assert.deepEqual([answer.status, answer.to_peer_id], [200, bob.peer_id]);
  assert.deepEqual(routing, {
    arm: "least_busy",
    routed_to: "bob",
    routed_to_peer_id: bob.peer_id,
    confidence: 0.5,
    fallback: false,
    fallback_reason: null,
  });
});

Deno.test("only an absent to_peer routes: null, blank and misspelt ones are refused", async () => {
  await using w = leastBusyWorld();
  await addPeer(w, "bob");
  for (const to_peer of [null, "", " \t"]) {
    const answer = await post(w, "/ask", { to_peer });
    assert.deepEqual([answer.status, answer.detail], [404, `Unknown peer: ${to_peer}`]);
  }
  assert.equal((await askAnyone(w, { to_peer: 5 })).status, 422);
  for (const key of ["toPeer", "to-peer", "to peer", "To.Peer"]) {
    const answer = await askAnyone(w, { [key]: "bob" });
    assert.deepEqual([answer.status, answer.error, answer.key], [400, "unknown_key", key]);
  }
  assert.equal((await askAnyone(w, { to_peer: "nobody", fallback_to: "bob" })).status, 404);
  await assertNothing(w);
});

Deno.test("an ask with to_peer is never rerouted, and its response has no routing", async () => {
  await using w = leastBusyWorld();
  const bob = await addPeer(w, "bob", { turn_state: "working" });
  await addPeer(w, "eve", { turn_state: "idle" });
  for (const more of [{ to_peer: "bob" }, { TO_PEER: "bob" }]) {
    const answer = await askAnyone(w, { ...more, fallback_to: "nobody at all" });
    assert.deepEqual([answer.status, answer.to_peer_id], [200, bob.peer_id]);
    assert.ok(!("routing" in answer));
    const { routing } = await w.call(getAsk, { params: { id: answer.correlation_id } });
    assert.equal(routing, null);
  }
  const offline = await addPeer(w, "zoe", { provenance: { addressable: false } });
  const refused = await askAnyone(w, { to_peer: offline.peer_id, fallback_to: "bob" });
  assert.equal(refused.error, "peer_not_addressable");
  assert.equal((await askAnyone(w, { to_peer: "bob", fallback_to: 5 })).status, 422);
});

Deno.test("@route is an ordinary name", async () => {
  await using w = leastBusyWorld();
  await addPeer(w, "bob");
  const answer = await askAnyone(w, { to_peer: "@route" });
  assert.deepEqual([answer.status, answer.detail], [404, "Unknown peer: @route"]);
});

Deno.test("idle peers come first, then the fewest open asks, and work is spread", async () => {
  await using w = leastBusyWorld();
  await addPeer(w, "bob", { turn_state: "working" });
  await addPeer(w, "eve", { turn_state: "idle" });
  await addPeer(w, "zoe", { turn_state: "idle" });
  await ask(w, "ada", "eve");
  const choices = [];
  for (let turn = 0; turn < 4; turn++) choices.push((await askAnyone(w)).routing);
  assert.equal(choices[0].routed_to, "zoe");
  assert.deepEqual(choices.map(({ routed_to }) => routed_to).toSorted(), [
    "eve",
    "eve",
    "zoe",
    "zoe",
  ]);
  assert.deepEqual(choices.map(({ confidence }) => confidence), [1, 0.5, 0.5, 0.333]);
});

Deno.test("the idle peer whose last ask was closed longest ago is asked", async () => {
  await using w = leastBusyWorld();
  for (const name of ["bob", "eve", "zoe"]) await addPeer(w, name, { turn_state: "idle" });
  const choices = [];
  for (let turn = 0; turn < 6; turn++) {
    const { correlation_id, routing } = await askAnyone(w);
    choices.push(routing.routed_to);
    await w.clock.advance(1000);
    await post(w, "/ack", { correlation_id });
  }
  assert.deepEqual(choices.slice(0, 3).toSorted(), ["bob", "eve", "zoe"]);
  assert.deepEqual(choices.slice(3), choices.slice(0, 3));
});

Deno.test("concurrent asks do not all see the same peer as idle", async () => {
  await using w = leastBusyWorld();
  for (const name of ["bob", "eve", "zoe"]) await addPeer(w, name, { turn_state: "idle" });
  const answers = await Promise.all(Array.from({ length: 9 }, () => askAnyone(w)));
  const counts = Map.groupBy(answers, ({ routing }) => routing.routed_to);
  assert.deepEqual([...counts.values()].map((of) => of.length), [3, 3, 3]);
});

Deno.test("only live, addressable peers of the sender's circle are chosen, never the sender", async () => {
  await using w = leastBusyWorld();
  await addPeer(w, "ada", { turn_state: "idle", circle: "red" });
  await addPeer(w, "gone", { turn_state: "idle", circle: "red" });
  await post(w, "/peers/gone/offline");
  await addPeer(w, "mute", { circle: "red", provenance: { addressable: false } });
  await addPeer(w, "cron", { circle: "red", role: "service" });
  await addPeer(w, "internal", { circle: "red", provenance: { initiator: "system" } });
  await addPeer(w, "far", { turn_state: "idle", circle: "blue" });
  const alone = await askAnyone(w);
  assert.deepEqual([alone.status, alone.error], [503, "router_unavailable"]);
  assert.deepEqual([alone.arm, alone.reason, typeof alone.hint], [
    "least_busy",
    "no_candidate",
    "string",
  ]);
  await assertNothing(w);
  assert.equal((await askAnyone(w, { circle: "blue" })).routing.routed_to, "far");
  assert.equal((await askAnyone(w, { bypass_circle: true })).routing.routed_to, "far");
  assert.equal((await askAnyone(w, { from_peer: "a-stranger" })).to_peer_name, "ada");
});

Deno.test("the human's asks search all circles, and need a proven human origin", async () => {
  await using w = leastBusyWorld({ "human.name": "sam" });
  await addPeer(w, "far", { circle: "blue" });
  const answer = await askAnyone(w, { from_peer: "sam" });
  assert.equal(answer.routing.routed_to, "far");
});

Deno.test("a routed ask reaches its peer, and its record and trace say how it was routed [4.ask.routing] [7.routing.arm-picks]", async () => {
  await using w = leastBusyWorld();
  const bob = await connectPeer(w, "bob");
  const { correlation_id, routing, delivery_state } = await askAnyone(w);
  assert.equal(delivery_state, "sent");
  assert.deepEqual(bob.of("ask").map((frame) => frame.correlation_id), [correlation_id]);
  const record = await w.call(getAsk, { params: { id: correlation_id } });
  assert.deepEqual(record.routing, routing);
  const { stages } = await w.call(getTrace, { params: { trace_id: correlation_id } });
  assert.deepEqual(stages.slice(0, 3).map(({ stage }) => stage), ["created", "resolved", "routed"]);
  const routed = stages.find(({ stage }) => stage === "routed");
  assert.deepEqual([routed?.status, routed?.detail], ["ok", "least_busy (0.5): bob"]);
  const named = await ask(w, "ada", "bob");
  const trace = await w.call(getTrace, { params: { trace_id: named } });
  assert.ok(!trace.stages.some(({ stage }) => stage === "routed"));
});

Deno.test("a dry run names the recipient, and stores nothing", async () => {
  await using w = leastBusyWorld();
  const bob = await addPeer(w, "bob");
  const answer = await askAnyone(w, { dry_run: true });
  assert.deepEqual([answer.correlation_id, answer.delivery_state], [null, null]);
  assert.deepEqual([answer.to_peer_id, answer.routing.routed_to], [bob.peer_id, "bob"]);
  await assertNothing(w);
  await post(w, "/peers/bob/offline");
  assert.equal((await askAnyone(w, { dry_run: true })).error, "router_unavailable");
});

Deno.test("an ask on a socket may omit to_peer, too", async () => {
  await using w = leastBusyWorld();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  await ada.send({ type: "ask", request_id: "1", text: "Who can?" });
  const [result] = ada.of("result") as Record<string, unknown>[];
  assert.equal((result?.["routing"] as { routed_to: string }).routed_to, "bob");
  assert.equal(bob.of("ask").length, 1);
  await ada.send({ type: "ask", request_id: "2", text: "And alone?", circle: "none" });
  const alone = ada.of("result")[1] as Record<string, unknown>;
  assert.deepEqual([alone["error"], alone["request_id"]], ["router_unavailable", "2"]);
});

Deno.test("the OpenAPI document requires to_peer only without a strategy", async () => {
  const required = async (settings: Record<string, string>) => {
    await using w = world({ settings });
    const { paths } = await get(w, "/openapi.json");
    return paths["/ask"].post.requestBody.content["application/json"].schema.required;
  };
  assert.deepEqual(await required({}), ["from_peer", "text", "to_peer"]);
  assert.deepEqual(await required({ "routing.strategy": "least_busy" }), ["from_peer", "text"]);
});

Deno.test("an unknown or incomplete strategy refuses the start with its config key", () => {
  const start = (settings: Record<string, string>) => () => world({ settings });
  // deno-fmt-ignore
  const wrong: [Record<string, string>, RegExp][] = [
    [{ "routing.strategy": "psychic" },                /routing\.strategy: found "psychic".*static, least_busy, relevance, webhook/],
    [{ "routing.strategy": "webhook" },                /routing\.webhook: found nothing.*http or https/],
    [{ "routing.webhook": "ftp://here.test/pick" },    /routing\.webhook: found .*http or https/],
    [{ "routing.webhook": "nowhere" },                 /routing\.webhook: found .*http or https/],
    [{ "routing.min_confidence": "1.5" },              /routing\.min_confidence: found 1.5.*0 to 1/],
    [{ "routing.min_confidence": "much" },             /routing\.min_confidence: found "much".*0 to 1/],
    [{ "routing.allow_service_targets": "sometimes" }, /routing\.allow_service_targets: .*true or false/],
    [{ "routing.arm": "webhook" },                     /routing\.arm: unknown key/],
  ];
  for (const [settings, complaint] of wrong) assert.throws(start(settings), complaint);
});

Deno.test("the routing of an ask survives a restart", async () => {
  using at = restartableWorld();
  const settings = { "routing.strategy": "least_busy" };
  const before = at.start({ settings });
  await addPeer(before, "bob");
  const { correlation_id, routing } = await askAnyone(before);
  await before[Symbol.asyncDispose]();
  await using after = at.start();
  const record = await after.call(getAsk, { params: { id: correlation_id } });
  assert.deepEqual([record.state, record.routing], ["open", routing]);
  assert.equal((await askAnyone(after)).error, "no_target");
});
