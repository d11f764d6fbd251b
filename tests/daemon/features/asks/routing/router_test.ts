/** Asks that name no recipient: what is refused first, who is picked, and what is said of it. */

import assert from "node:assert/strict";
import { getAsk } from "../../../../../daemon/features/asks/contract.ts";
import { getTrace } from "../../../../../daemon/features/messages/contract.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { world } from "../../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import { assertNothing, route, worldWithLoadedPeers } from "../../../../support/daemon/routing.ts";

Deno.test("under static, an ask must name to_peer, whatever else is wrong with it", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const body of [{}, { text: 5 }, { text: "Hi", fallback_to: "bob", from_peer: "ada" }]) {
    const answer = await post(w, "/ask", body);
    assert.deepEqual([answer.status, answer.error], [400, "no_target"]);
    assert.equal(typeof answer.hint, "string");
  }
  await assertNothing(w);
});

Deno.test("under an arm, an absent to_peer routes once the rest of the ask is right", async () => {
  await using w = worldWithLoadedPeers();
  const bob = await addPeer(w, "bob");
  assert.deepEqual([(await post(w, "/ask", {})).status], [422]);
  assert.equal((await post(w, "/ask", { from_peer: "ada", text: "" })).error, "invalid_request");
  const { routing, ...answer } = await route(w);
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

Deno.test("only an absent key routes: null, blank and misspelt ones are refused as ever", async () => {
  await using w = worldWithLoadedPeers();
  await addPeer(w, "bob");
  for (const to_peer of [null, "", " \t"]) {
    const answer = await post(w, "/ask", { to_peer });
    assert.deepEqual([answer.status, answer.detail], [404, `Unknown peer: ${to_peer}`]);
  }
  assert.equal((await route(w, { to_peer: 5 })).status, 422);
  for (const key of ["toPeer", "to-peer", "to peer", "To.Peer"]) {
    const answer = await route(w, { [key]: "bob" });
    assert.deepEqual([answer.status, answer.error, answer.key], [400, "unknown_key", key]);
  }
  assert.equal((await route(w, { to_peer: "nobody", fallback_to: "bob" })).status, 404);
  await assertNothing(w);
});

Deno.test("a named ask is never rerouted, and says nothing of routing", async () => {
  await using w = worldWithLoadedPeers();
  const bob = await addPeer(w, "bob", { turn_state: "working" });
  await addPeer(w, "eve", { turn_state: "idle" });
  for (const more of [{ to_peer: "bob" }, { TO_PEER: "bob" }]) {
    const answer = await route(w, { ...more, fallback_to: "nobody at all" });
    assert.deepEqual([answer.status, answer.to_peer_id], [200, bob.peer_id]);
    assert.ok(!("routing" in answer));
    const { routing } = await w.call(getAsk, { params: { id: answer.correlation_id } });
    assert.equal(routing, null);
  }
  const offline = await addPeer(w, "zoe", { provenance: { addressable: false } });
  const refused = await route(w, { to_peer: offline.peer_id, fallback_to: "bob" });
  assert.equal(refused.error, "peer_not_addressable");
  assert.equal((await route(w, { to_peer: "bob", fallback_to: 5 })).status, 422);
});

Deno.test("@route is a name like any other", async () => {
  await using w = worldWithLoadedPeers();
  await addPeer(w, "bob");
  const answer = await route(w, { to_peer: "@route" });
  assert.deepEqual([answer.status, answer.detail], [404, "Unknown peer: @route"]);
});

Deno.test("the idle come first, then who has the fewest open asks, and work goes round", async () => {
  await using w = worldWithLoadedPeers();
  await addPeer(w, "bob", { turn_state: "working" });
  await addPeer(w, "eve", { turn_state: "idle" });
  await addPeer(w, "zoe", { turn_state: "idle" });
  await ask(w, "ada", "eve");
  const choices = [];
  for (let turn = 0; turn < 4; turn++) choices.push((await route(w)).routing);
  assert.equal(choices[0].routed_to, "zoe");
  assert.deepEqual(choices.map(({ routed_to }) => routed_to).toSorted(), [
    "eve",
    "eve",
    "zoe",
    "zoe",
  ]);
  assert.deepEqual(choices.map(({ confidence }) => confidence), [1, 0.5, 0.5, 0.333]);
});

Deno.test("of two that are free, the one is asked whose last ask was closed the longest ago", async () => {
  await using w = worldWithLoadedPeers();
  for (const name of ["bob", "eve", "zoe"]) await addPeer(w, name, { turn_state: "idle" });
  const choices = [];
  for (let turn = 0; turn < 6; turn++) {
    const { correlation_id, routing } = await route(w);
    choices.push(routing.routed_to);
    await w.clock.advance(1000);
    await post(w, "/ack", { correlation_id });
  }
  assert.deepEqual(choices.slice(0, 3).toSorted(), ["bob", "eve", "zoe"]);
  assert.deepEqual(choices.slice(3), choices.slice(0, 3));
});

Deno.test("asks that come at once do not all see the same peer as free", async () => {
  await using w = worldWithLoadedPeers();
  for (const name of ["bob", "eve", "zoe"]) await addPeer(w, name, { turn_state: "idle" });
  const answers = await Promise.all(Array.from({ length: 9 }, () => route(w)));
  const counts = Map.groupBy(answers, ({ routing }) => routing.routed_to);
  assert.deepEqual([...counts.values()].map((of) => of.length), [3, 3, 3]);
});

Deno.test("picked are live, addressable peers of the sender's circle, and never the sender", async () => {
  await using w = worldWithLoadedPeers();
  await addPeer(w, "ada", { turn_state: "idle", circle: "red" });
  await addPeer(w, "gone", { turn_state: "idle", circle: "red" });
  await post(w, "/peers/gone/offline");
  await addPeer(w, "mute", { circle: "red", provenance: { addressable: false } });
  await addPeer(w, "cron", { circle: "red", role: "service" });
  await addPeer(w, "internal", { circle: "red", provenance: { initiator: "system" } });
  await addPeer(w, "far", { turn_state: "idle", circle: "blue" });
  const alone = await route(w);
  assert.deepEqual([alone.status, alone.error], [503, "router_unavailable"]);
  assert.deepEqual([alone.arm, alone.reason, typeof alone.hint], [
    "least_busy",
    "no_candidate",
    "string",
  ]);
  await assertNothing(w);
  assert.equal((await route(w, { circle: "blue" })).routing.routed_to, "far");
  assert.equal((await route(w, { bypass_circle: true })).routing.routed_to, "far");
  assert.equal((await route(w, { from_peer: "a-stranger" })).to_peer_name, "ada");
});

Deno.test("the human's asks look in all circles, and are the human's only through its door", async () => {
  await using w = worldWithLoadedPeers({ "human.name": "sam" });
  await addPeer(w, "far", { circle: "blue" });
  const answer = await route(w, { from_peer: "sam" });
  assert.equal(answer.routing.routed_to, "far");
});

Deno.test("an arm that is not sure enough has failed [7.router-unavailable]", async () => {
  await using w = worldWithLoadedPeers({ "routing.min_confidence": "0.50" });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  assert.equal((await route(w)).status, 200);
  const unsure = await route(w);
  assert.deepEqual([unsure.status, unsure.reason], [503, "low_confidence"]);
  await addPeer(w, "eve", { role: "orchestrator", circle: "blue" });
  const { routing } = await route(w, { fallback_to: "eve" });
  assert.deepEqual([routing.routed_to, routing.confidence], ["eve", 0.25]);
  assert.deepEqual([routing.fallback, routing.fallback_reason], [true, "low_confidence"]);
});

Deno.test("with allow_service_targets, services and the human may be reached, agents first", async () => {
  await using w = worldWithLoadedPeers({
    "routing.allow_service_targets": "true",
    "human.name": "sam",
  });
  assert.equal((await route(w)).routing.routed_to, "sam");
  await addPeer(w, "bob", { turn_state: "working" });
  await ask(w, "ada", "bob");
  assert.equal((await route(w)).routing.routed_to, "bob");
  await post(w, "/peers/bob/offline");
  await addPeer(w, "cron", { role: "service", turn_state: "idle" });
  assert.equal((await route(w)).routing.routed_to, "cron");
  const asked = await route(w, { circle: "none", fallback_to: "sam" });
  assert.equal(asked.status, 200);
});

Deno.test("where nobody is left but the human, no strategy asks it unless allowed [7.routing.no-services]", async () => {
  await using w = worldWithLoadedPeers({ "human.name": "sam" });
  const answer = await route(w);
  assert.deepEqual([answer.status, answer.reason], [503, "no_candidate"]);
  assert.deepEqual((await get(w, "/inbox")).items, []);
});

Deno.test("a routed ask reaches its peer, and its record and trace say how it was found [4.ask.routing] [7.routing.arm-picks]", async () => {
  await using w = worldWithLoadedPeers();
  const bob = await connectPeer(w, "bob");
  const { correlation_id, routing, delivery_state } = await route(w);
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

Deno.test("a pick whose queue is full is refused, and the fallback is asked instead", async () => {
  await using w = worldWithLoadedPeers({ "daemon.queue.max_per_peer": "1" });
  await addPeer(w, "bob", { turn_state: "idle" });
  await addPeer(w, "eve", { circle: "blue" });
  await notify(w, "ada", "bob");
  const refused = await route(w);
  assert.deepEqual([refused.status, refused.reason], [503, "refused"]);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  const { routing } = await route(w, { fallback_to: "eve" });
  assert.deepEqual([routing.routed_to, routing.fallback_reason], ["eve", "refused"]);
  const full = await route(w, { fallback_to: "eve" });
  assert.deepEqual([full.status, full.error], [429, "queue_full"]);
});

Deno.test("a refused pick leaves the ask that was followed up as it was", async () => {
  await using w = worldWithLoadedPeers({ "daemon.queue.max_per_peer": "1" });
  await addPeer(w, "ada");
  await addPeer(w, "bob", { turn_state: "idle" });
  const before = await ask(w, "bob", "ada");
  await notify(w, "cli", "bob");
  const refused = await route(w, { reply_to: before });
  assert.deepEqual([refused.status, refused.reason], [503, "refused"]);
  assert.equal((await w.call(getAsk, { params: { id: before } })).state, "open");
  const unknown = await route(w, { reply_to: "ask-ffffffffffff" });
  assert.deepEqual([unknown.status, unknown.error], [404, "unknown_ask"]);
});

Deno.test("a dry run says where an ask would go, and registers nothing", async () => {
  await using w = worldWithLoadedPeers();
  const bob = await addPeer(w, "bob");
  const answer = await route(w, { dry_run: true });
  assert.deepEqual([answer.correlation_id, answer.delivery_state], [null, null]);
  assert.deepEqual([answer.to_peer_id, answer.routing.routed_to], [bob.peer_id, "bob"]);
  await assertNothing(w);
  await post(w, "/peers/bob/offline");
  assert.equal((await route(w, { dry_run: true })).error, "router_unavailable");
});

Deno.test("an ask on a socket may leave its recipient to the daemon, too", async () => {
  await using w = worldWithLoadedPeers();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  await ada.send({ type: "ask", request_id: "1", text: "Who can?" });
  const [result] = ada.of("result") as Record<string, unknown>[];
  assert.equal((result?.["routing"] as { routed_to: string }).routed_to, "bob");
  assert.equal(bob.of("ask").length, 1);
  await ada.send({ type: "ask", request_id: "2", text: "And alone?", circle: "none" });
  const alone = ada.of("result")[1] as Record<string, unknown>;
  assert.deepEqual([alone["error"], alone["request_id"]], ["router_unavailable", "2"]);
});

Deno.test("the OpenAPI document requires to_peer only where no arm is set", async () => {
  const required = async (settings: Record<string, string>) => {
    await using w = world({ settings });
    const { paths } = await get(w, "/openapi.json");
    return paths["/ask"].post.requestBody.content["application/json"].schema.required;
  };
  assert.deepEqual(await required({}), ["from_peer", "text", "to_peer"]);
  assert.deepEqual(await required({ "routing.strategy": "least_busy" }), ["from_peer", "text"]);
});

Deno.test("a strategy that is unknown, or lacks what it needs, stops the start with its key", () => {
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

Deno.test("how an ask was routed is still known after a restart", async () => {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), db_path: `${directory}/mesh.db` };
  const settings = { "routing.strategy": "least_busy" };
  try {
    const before = world({ ...shared, settings });
    await addPeer(before, "bob");
    const { correlation_id, routing } = await route(before);
    await before[Symbol.asyncDispose]();
    await using after = world({ ...shared });
    const record = await after.call(getAsk, { params: { id: correlation_id } });
    assert.deepEqual([record.state, record.routing], ["open", routing]);
    assert.equal((await route(after)).error, "no_target");
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
});
