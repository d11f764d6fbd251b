import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

/** Everything that a refused verb must leave unchanged. */
async function traces(w: World) {
  await w.clock.settle();
  const { asks } = await get(w, "/asks");
  return { asks: asks.length, events: w.events.length, counts: w.daemon.deliveryAudit.counts() };
}

Deno.test("a record holds each part of the provenance as a field of its own [2.peer.initiator] [2.peer.parent-runtime-id] [2.peer.ephemeral]", async () => {
  await using w = world();
  for (const initiator of ["user", "agent", "system"]) {
    const provenance = { initiator, parent_runtime_id: "s-1", ephemeral: true };
    await addPeer(w, `by-${initiator}`, { provenance });
    const peer = await get(w, `/peers/by-${initiator}`);
    assert.deepEqual([peer.initiator, peer.parent_runtime_id, peer.ephemeral], [
      initiator,
      "s-1",
      true,
    ]);
  }
  await addPeer(w, "ada");
  const bare = await get(w, "/peers/ada");
  assert.deepEqual(["initiator" in bare, "parent_runtime_id" in bare, bare.ephemeral], [
    false,
    false,
    false,
  ]);
  const odd = await post(w, "/peers/ada/provenance", { initiator: "robot" });
  assert.equal(odd.status, 422);
});

Deno.test("a parent is looked up on reading, and null while it is not registered [2.peer.parent-peer-id] [7.not-addressable.parent]", async () => {
  await using w = world();
  const provenance = { parent_runtime_id: "s-1", addressable: false };
  await addPeer(w, "sub", { provenance });
  const parents = async () => [
    (await get(w, "/peers/sub")).parent_peer_id,
    (await post(w, "/ask", { from_peer: "x", to_peer: "sub", text: "Hi" })).parent_peer_id,
    (await post(w, "/notify", { from_peer: "x", to_peer: "sub", text: "Hi" })).parent_peer_id,
  ];
  assert.deepEqual(await parents(), [null, null, null]);
  const { peer_id } = await addPeer(w, "boss", { runtime_session_id: "s-1" });
  assert.deepEqual(await parents(), [peer_id, peer_id, peer_id]);
  await w.fetch("/peers/boss", { method: "DELETE" });
  assert.deepEqual(await parents(), [null, null, null]);
});

Deno.test("an inbound-only peer sends messages, and receives only the answers to its asks [2.peer.addressable]", async () => {
  await using w = world();
  await addPeer(w, "sub", { provenance: { addressable: false } });
  const bob = await connectPeer(w, "bob");
  const id = await ask(w, "sub", "bob");
  await notify(w, "sub", "bob");
  await w.clock.settle();
  assert.deepEqual([bob.of("ask").length, bob.of("notify").length], [1, 1]);
  const waiting = post(w, `/asks/${id}/wait`, { peer_id: "sub" });
  await w.clock.settle();
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  assert.equal((await waiting).reply, "Yes");
});

Deno.test("a peer_id survives a new name, a new process, and an absence [2.peer.id-immutable]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada", { runtime_session_id: "s-1" });
  await post(w, `/peers/${peer_id}/name`, { name: "eve" });
  await post(w, `/peers/${peer_id}/offline`);
  const back = await addPeer(w, "eve", { runtime_session_id: "s-1", agent_pid: 9 });
  assert.equal(back.peer_id, peer_id);
  assert.equal((await get(w, `/peers/${peer_id}`)).name, "eve");
});

Deno.test("a pull ask keeps its reply on the record, and push is the default [2.ask.reply-delivery] [3.ask.reply-pull] [4.ask.reply-delivery]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const pulled = await ask(w, "ada", "bob", "One", { reply_delivery: "pull" });
  const pushed = await ask(w, "ada", "bob", "Two");
  for (const correlation_id of [pulled, pushed]) {
    await post(w, "/ack", { correlation_id, message: "Yes" });
  }
  await w.clock.settle();
  assert.deepEqual(ada.of("ack").map(({ correlation_id }) => correlation_id), [pushed]);
  const kept = await get(w, `/asks/${pulled}`);
  assert.deepEqual([kept.reply_delivery, kept.reply], ["pull", "Yes"]);
  assert.equal((await get(w, `/asks/${pushed}`)).reply_delivery, "push");
  const body = { from_peer: "ada", to_peer: "bob", text: "Hi", reply_delivery: "shout" };
  assert.equal((await post(w, "/ask", body)).status, 422);
});

Deno.test("an ask has its origin, if it was given [2.ask.origin] [4.ask.origin]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  const origin = { surface: "telegram", ref: "41" };
  assert.deepEqual((await get(w, `/asks/${await ask(w, "sam", "bob", "Hi", { origin })}`)).origin, {
    ...origin,
  });
  assert.equal((await get(w, `/asks/${await ask(w, "sam", "bob")}`)).origin, null);
  const body = { from_peer: "sam", to_peer: "bob", text: "Hi", origin: { surface: "telegram" } };
  assert.equal((await post(w, "/ask", body)).status, 422);
});

Deno.test("a message to an inbound-only peer is refused and leaves nothing behind [3.peer.inbound-only.ask] [3.peer.inbound-only.notify] [7.not-addressable.notify] [7.not-addressable.nothing]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob", { provenance: { addressable: false } });
  const before = await traces(w);
  for (const path of ["/ask", "/notify"]) {
    const refused = await post(w, path, { from_peer: "ada", to_peer: "bob", text: "Hi" });
    assert.deepEqual(
      [refused.status, refused.error, refused.peer_id, refused.parent_peer_id],
      [409, "peer_not_addressable", peer_id, null],
    );
    assert.equal(typeof refused.hint, "string");
  }
  assert.deepEqual(await traces(w), before);
});

Deno.test("a lease of a peer that accepts no messages is empty, and counts what it dropped [3.peer.inbound-only.drain]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("update peers set addressable = 0")); // As a crash might leave it.
  const drained = await get(w, "/deliveries/pending?peer_id=bob");
  assert.deepEqual(drained, {
    status: 200,
    deliveries: [],
    drain_id: null,
    dropped_not_addressable: 1,
  });
  assert.deepEqual(eventData(w, "deliveries_dropped"), [
    { peer_id, count: 1, reason: "peer_not_addressable" },
  ]);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 1 });
});

Deno.test("a connection of a peer that accepts no messages drops its queue [3.peer.inbound-only.connect]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("update peers set addressable = 0")); // As a crash might leave it.
  const bob = await connectPeer(w, "bob", { peer_id });
  assert.deepEqual(bob.of("notify"), []);
  assert.deepEqual(eventData(w, "deliveries_dropped"), [
    { peer_id, count: 1, reason: "peer_not_addressable" },
  ]);
});

Deno.test("an operator closes a peer by its name, too [4.peers.delete]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  assert.equal((await w.fetch("/peers/bob", { method: "DELETE" })).status, 200);
  assert.equal((await get(w, `/peers/${peer_id}`)).status, 404);
  assert.deepEqual((await get(w, "/peers")).peers, []);
  assert.deepEqual(eventData(w, "peer_removed"), [{ peer_id, name: "bob" }]);
});

Deno.test("an offline may give every detail, or none [4.peers.offline-cause] [4.peers.offline-empty]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await addPeer(w, "bob");
  const cause = { reason: "agent_exited", source: "hook", detail: "exit 1" };
  const body = { ...cause, terminal: false, pane_id: "%3", agent_pid: 9 };
  assert.equal((await post(w, "/peers/ada/offline", body)).status, 200);
  const empty = await w.fetch("/peers/bob/offline", { method: "POST" });
  assert.deepEqual([empty.status, await empty.json()], [200, { ok: true }]);
  assert.equal(w.daemon.directory.find("bob").status, "offline");
  const [full, bare] = eventData(w, "peer_offline");
  assert.deepEqual(full, { peer_id, name: "ada", ...cause, terminal: false });
  assert.deepEqual([bare?.["reason"], bare?.["terminal"]], [null, false]);
});

Deno.test("a dashboard that has received an item's event is recorded as showing it, once [6.surface-pushed]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const gone = new AbortController();
  const stream = await w.fetch("/events/stream?surface=dashboard", { signal: gone.signal });
  assert.ok(stream.body);
  const reader = stream.body.getReader();
  await reader.read();
  const { inbox_item_id } = await notify(w, "ada", "sam");
  assert.deepEqual(eventData(w, "surface_pushed"), []);
  const shown = w.events.find(({ type }) => type === "inbox_item");
  const decoder = new TextDecoder();
  for (let text = ""; !text.includes("event: surface_pushed");) {
    text += decoder.decode((await reader.read()).value);
  }
  assert.deepEqual(eventData(w, "surface_pushed"), [
    { surface: "dashboard", item_id: inbox_item_id, surface_ref: String(shown?.id) },
  ]);
  gone.abort();
  await reader.cancel();
  await w.clock.settle();
});

Deno.test("an event during a reader's `ready` reaches the reader", async () => {
  await using w = world();
  const gone = new AbortController();
  const stream = await w.fetch("/events/stream", { signal: gone.signal });
  assert.ok(stream.body);
  const reader = stream.body.getReader();
  const decoder = new TextDecoder();
  assert.match(decoder.decode((await reader.read()).value), /^event: ready\ndata: {"last":0}/);
  await addPeer(w, "ada");
  assert.match(decoder.decode((await reader.read()).value), /^id: 1\nevent: peer_registered/);
  gone.abort();
  await reader.cancel();
  await w.clock.settle();
});

Deno.test("an ask without a target leaves nothing behind [7.no-target.nothing]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const before = await traces(w);
  const refused = await post(w, "/ask", { from_peer: "ada", text: "Hi" });
  assert.deepEqual([refused.status, refused.error], [400, "no_target"]);
  assert.deepEqual(await traces(w), before);
});

Deno.test("@route is a name like any other [7.routing.at-route]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const lost = await post(w, "/ask", { from_peer: "ada", to_peer: "@route", text: "Hi" });
  assert.deepEqual([lost.status, lost.detail], [404, "Unknown peer: @route"]);
});

Deno.test("a notify has one id in its answer, frame, queue, receipt and trace [c1.ids.notify]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  const queued = (await get(w, "/deliveries?peer_id=bob")).deliveries[0];
  const bob = await connectPeerWithReceipts(w, "bob", { peer_id });
  const [frame] = bob.of("notify");
  const { trace_id, stages } = await get(w, `/traces/${delivery_id}`);
  assert.deepEqual([queued.delivery_id, frame?.delivery_id, trace_id], [
    delivery_id,
    delivery_id,
    delivery_id,
  ]);
  assert.equal(stages.at(-1).stage, "sent");
  await bob.send({ type: "delivery_ack", delivery_id, status: "accepted" });
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.state, "accepted");
});

Deno.test("unknown keys of a body are ignored [c1.unknown-keys]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const more = { colour: "blue", nested: { to_peer: "eve" }, fallback: true };
  for (const path of ["/ask", "/notify"]) {
    const answer = await post(w, path, { from_peer: "ada", to_peer: "bob", text: "Hi", ...more });
    assert.equal(answer.to_peer_name, "bob");
  }
  const answer = await post(w, "/peers", { name: "eve", path: "/", backend: "sdk", ...more });
  assert.equal(answer.display_name, "eve");
});
