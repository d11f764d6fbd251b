/** Asks to many: children, results, timeout, retention. */

import assert from "node:assert/strict";
import { timeouts } from "../../../../daemon/features/asks/store.ts";
import { askMany as askManyRoute } from "protocol/asks/many.ts";
import { MemoryNetwork, pass } from "../../../support/machines/memory_network.ts";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";

/** Registers the asker and three recipients, except those that connect over a socket. */
async function addThreePeers(w: World, ...connected: string[]) {
  for (const name of ["ada", "bob", "eve", "tom"]) {
    if (!connected.includes(name)) await addPeer(w, name);
  }
}

function askMany(w: World, more: Record<string, unknown> = {}) {
  const to_peers = ["bob", "eve", "tom"];
  return post(w, "/asks/many", { from_peer: "ada", to_peers, text: "Ready?", ...more });
}

interface Child {
  readonly peer: string;
  readonly correlation_id: string;
  readonly error?: string;
}

const idsOf = (children: Child[]) => children.map(({ correlation_id }) => correlation_id);

Deno.test("an ask to many is one parent with an ordinary ask per recipient [c3.many]", async () => {
  await using w = world();
  await addThreePeers(w, "bob");
  const bob = await connectPeer(w, "bob");
  const { status, parent_id, children } = await askMany(w);
  assert.equal(status, 200);
  assert.match(parent_id, /^askm-[0-9a-f]{12}$/);
  assert.deepEqual(children.map(({ peer }: Child) => peer), ["bob", "eve", "tom"]);
  for (const { correlation_id, peer_id } of children) {
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.parent_id, kept.to_peer_id, kept.reply_delivery], [
      parent_id,
      peer_id,
      "push",
    ]);
  }
  assert.equal(bob.of("ask")[0]?.correlation_id, children[0].correlation_id);
  assert.equal(eventData(w, "ask").length, 3);
});

Deno.test("a parent is pending, then partial, then complete", async () => {
  await using w = world();
  await addThreePeers(w);
  const { parent_id, children } = await askMany(w);
  const [first, second, third] = idsOf(children);
  const state = async () => (await get(w, `/asks/many/${parent_id}`)).state;
  assert.equal(await state(), "pending");
  await post(w, "/ack", { correlation_id: first, message: "Yes" });
  assert.equal(await state(), "partial");
  await post(w, "/decline", { correlation_id: second, reason: "Busy" });
  assert.equal(await state(), "partial");
  await post(w, "/ack", { correlation_id: third });
  assert.deepEqual(await get(w, `/asks/many/${parent_id}`), {
    status: 200,
    parent_id,
    state: "complete",
    children: [
      {
        peer: "bob",
        correlation_id: first,
        state: "closed",
        reply: "Yes",
        outcome: "answered",
        close_reason: "ack_with_msg",
      },
      {
        peer: "eve",
        correlation_id: second,
        state: "closed",
        reply: "Busy",
        outcome: "declined",
        close_reason: "declined",
      },
      {
        peer: "tom",
        correlation_id: third,
        state: "closed",
        reply: null,
        outcome: "acknowledged",
        close_reason: "ack",
      },
    ],
  });
});

Deno.test("a recipient that cannot be asked fails alone, and the result shows its error", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  await addThreePeers(w);
  await post(w, "/peers/eve/provenance", { addressable: false });
  await post(w, "/ask", { from_peer: "x", to_peer: "tom", text: "First" });
  const to_peers = ["eve", "nobody", "ada", "tom", "", "bob"];
  const { parent_id, children } = await askMany(w, { to_peers });
  const errors = children.map(({ peer, error }: Child) => [peer, error]);
  assert.deepEqual(errors, [
    ["eve", "peer_not_addressable"],
    ["nobody", "unknown_peer"],
    ["ada", "to_self"],
    ["tom", "queue_full"],
    ["", "unknown_peer"],
    ["bob", undefined],
  ]);
  const result = await get(w, `/asks/many/${parent_id}`);
  assert.equal(result.state, "pending");
  assert.deepEqual(result.children[0], {
    peer: "eve",
    correlation_id: null,
    state: "closed",
    reply: null,
    outcome: "failed",
    close_reason: null,
    error: "peer_not_addressable",
  });
  await post(w, "/ack", { correlation_id: children[5].correlation_id });
  assert.equal((await get(w, `/asks/many/${parent_id}`)).state, "complete");
});

Deno.test("if no recipient can be asked, it is refused like /ask, and nothing is stored", async () => {
  await using w = world();
  await addThreePeers(w);
  const none = await askMany(w, { to_peers: ["nobody", "ada"] });
  assert.deepEqual([none.status, none.error, none.detail], [
    404,
    "unknown_peer",
    "Unknown peer: nobody",
  ]);
  const count = Array.from({ length: 101 }, () => "bob");
  for (const to_peers of [[], count, "bob", undefined]) {
    assert.equal((await askMany(w, { to_peers })).status, 422);
  }
  assert.equal((await askMany(w, { timeout_seconds: "5" })).status, 422);
  assert.deepEqual((await get(w, "/asks")).asks, []);
  const unknown = await get(w, "/asks/many/askm-ffffffffffff");
  assert.deepEqual([unknown.status, unknown.error], [404, "unknown_ask"]);
});

Deno.test("a recipient that is named in several ways is one child, as it was named first", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  const bob = await addPeer(w, "bob", { tags: ["db"] });
  await addPeer(w, "Bob", { tags: ["db"] });
  const eve = await addPeer(w, "eve", { addressable: false });
  await post(w, "/peers/eve/provenance", { addressable: false });
  const ways: [to_peers: string[], children: string[]][] = [
    [["bob", bob.peer_id, "bob", "bob@here", "@db"], ["bob", "Bob"]],
    [["@db", bob.peer_id, "@db"], ["bob", "Bob"]],
    [["dashboard", "sam", "telegram"], ["dashboard"]],
    [["bob", "nobody", "eve", "nobody", eve.peer_id, "@none", "@none"], [
      "bob",
      "nobody",
      "eve",
      "@none",
    ]],
  ];
  for (const [to_peers, expected] of ways) {
    const { children, parent_id } = await askMany(w, { to_peers });
    assert.deepEqual(children.map(({ peer }: Child) => peer).sort(), expected.toSorted());
    const result = await get(w, `/asks/many/${parent_id}`);
    assert.equal(result.children.length, expected.length);
  }
  assert.equal((await get(w, "/asks")).asks.length, 6);
});

Deno.test("a recipient on another machine is one child, whether its machine is named or not", async () => {
  const network = new MemoryNetwork();
  await using laptop = network.join("laptop");
  await using buildbox = network.join("buildbox");
  const circle = "work";
  const connect = { display_name: "ada", circle };
  await laptop.socket().connect(connect);
  const frame = await buildbox.socket().connect({ ...connect, display_name: "api" });
  assert.ok(frame?.type === "connected");
  await pass([laptop, buildbox], 3);
  const { daemon_id } = buildbox.daemon.identity;
  const to_peers = ["api@buildbox", "api", frame.peer_id, `api@${daemon_id}`];
  const body = { from_peer: "ada", to_peers, text: "Which port?" };
  const { children } = await laptop.call(askManyRoute, { body });
  assert.deepEqual(children.map(({ peer }) => peer), ["api@buildbox"]);
});

Deno.test("a hundred recipients may be named twice each", async () => {
  await using w = world();
  await addPeer(w, "ada");
  for (let at = 0; at < 60; at++) await addPeer(w, `p${at}`, { tags: ["all"] });
  const names = Array.from({ length: 60 }, (_, at) => `p${at}`);
  const { status, children } = await askMany(w, { to_peers: ["@all", ...names] });
  assert.deepEqual([status, children.length], [200, 60]);
});

Deno.test("on timeout, open children are evicted once, and the asker is notified", async () => {
  await using w = world();
  await addThreePeers(w, "ada");
  const ada = await connectPeer(w, "ada");
  const { parent_id, children } = await askMany(w, { timeout_seconds: 10 });
  const [first] = idsOf(children);
  await post(w, "/ack", { correlation_id: first, message: "Yes" });
  await w.tick(9);
  assert.equal((await get(w, `/asks/many/${parent_id}`)).state, "partial");
  await w.tick(1);
  const { state, children: ended } = await get(w, `/asks/many/${parent_id}`);
  assert.equal(state, "complete");
  assert.deepEqual(
    ended.map(({ close_reason }: Record<string, string>) => close_reason),
    ["ack_with_msg", "evicted", "evicted"],
  );
  assert.deepEqual(ada.of("ack").map(({ close_reason }) => close_reason), [
    "ack_with_msg",
    "evicted",
    "evicted",
  ]);
  const ackCount = eventData(w, "ack").length;
  assert.deepEqual(timeouts(w.daemon.ctx.db), []);
  await w.tick(60);
  assert.equal(eventData(w, "ack").length, ackCount);
});

Deno.test("a parent is deleted after 30 days, unless a child is still open", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addThreePeers(w);
  const brief = await askMany(w);
  const lastingAsks = await askMany(w, { to_peers: ["bob", "sam"] });
  await w.tick(29 * 86_400);
  await w.tick();
  assert.equal((await get(w, `/asks/many/${brief.parent_id}`)).state, "complete");
  await w.tick(86_400);
  assert.equal((await get(w, `/asks/many/${brief.parent_id}`)).status, 404);
  assert.equal((await get(w, `/asks/many/${lastingAsks.parent_id}`)).state, "partial");
  await post(w, "/ack", { correlation_id: lastingAsks.children[1].correlation_id });
  await w.tick();
  assert.equal((await get(w, `/asks/many/${lastingAsks.parent_id}`)).status, 404);
});

Deno.test("a parent and its timeout survive a restart", async () => {
  using at = restartableWorld();
  let w = at.start();
  await addThreePeers(w);
  const lastingAsks = await askMany(w);
  const brief = await askMany(w, { timeout_seconds: 60 });
  await w[Symbol.asyncDispose]();
  w = at.start();
  const [first] = idsOf(lastingAsks.children);
  await post(w, "/ack", { correlation_id: first, message: "Yes" });
  await w.tick(61);
  assert.equal((await get(w, `/asks/many/${lastingAsks.parent_id}`)).state, "partial");
  assert.equal((await get(w, `/asks/many/${brief.parent_id}`)).state, "complete");
  await w[Symbol.asyncDispose]();
});
