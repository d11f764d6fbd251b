/** `Idempotency-Key` on messages: run once, answered as often as it is sent (contract 1). */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { openAsk } from "protocol/asks/contract.ts";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";
import { type World, world } from "../../support/world.ts";
import {
  addPeer,
  connectPeer,
  connectPeerWithReceipts,
  eventTypesSince,
  get,
  post,
} from "../../support/daemon/peer_clients.ts";

const DAY_SECONDS = 86_400;

/** Posts with a key; returns status, whether it is a replay, and the answer. */
async function send(w: World, path: string, body: unknown, key: string) {
  const response = await w.post(path, body, { "idempotency-key": key });
  const replayed = response.headers.get("idempotent-replay");
  return { status: response.status, replayed, ...await response.json() };
}

const QUESTION = { from_peer: "ada", to_peer: "bob", text: "Ready?" };

Deno.test("an ask sent twice with a key is asked once, and answered with its current state [c1.idempotency.replay]", async () => {
  await using w = world();
  await addPeer(w, "ada");
  const bob = await connectPeerWithReceipts(w, "bob");
  const first = await send(w, "/ask", QUESTION, "k-1");
  assert.deepEqual([first.status, first.replayed, first.delivery_state], [200, null, "sent"]);
  const { delivery_id } = bob.of("ask")[0] ?? { delivery_id: "" };
  await bob.send({ type: "delivery_ack", delivery_id, status: "accepted" });
  const at = w.events.length;
  const second = await send(w, "/ask", QUESTION, "k-1");
  assert.deepEqual(second, { ...first, replayed: "true", delivery_state: "accepted" });
  assert.equal(bob.of("ask").length, 1);
  assert.deepEqual(eventTypesSince(w, at), []);
  assert.equal((await get(w, "/asks")).asks.length, 1);
});

Deno.test("a notification and a broadcast with a key are sent once", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada"), bob = await connectPeerWithReceipts(w, "bob");
  const note = await send(w, "/notify", QUESTION, "k");
  assert.deepEqual([note.delivered, note.queued], [false, false]);
  const { delivery_id } = bob.of("notify")[0] ?? { delivery_id: "" };
  await bob.send({ type: "delivery_ack", delivery_id, status: "seen" });
  assert.deepEqual(await send(w, "/notify", QUESTION, "k"), {
    ...note,
    replayed: "true",
    delivered: true,
    delivery_state: "seen",
  });
  const all = await send(w, "/broadcast", { from_peer: "ada", text: "All" }, "k");
  const again = await send(w, "/broadcast", { from_peer: "ada", text: "All" }, "k");
  assert.deepEqual(again, { ...all, replayed: "true" });
  assert.deepEqual([bob.of("notify").length, bob.of("broadcast").length], [1, 1]);
  assert.deepEqual([note.replayed, all.replayed, ada.of("broadcast").length], [null, null, 0]);
});

Deno.test("an ask to the human keeps its inbox item", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  const body = { ...QUESTION, to_peer: "sam" };
  const first = await send(w, "/ask", body, "k"), second = await send(w, "/ask", body, "k");
  assert.deepEqual(second, { ...first, replayed: "true" });
  assert.match(first.inbox.item_id, /^inb-/);
  assert.equal((await get(w, "/inbox")).items.length, 1);
});

Deno.test("a key with another body is refused, after the aliases of an ask's keys are resolved [c1.idempotency.mismatch]", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const { correlation_id } = await send(w, "/ask", QUESTION, "k");
  const folded = { TEXT: "Ready?", To_Peer: "bob", FROM_PEER: "ada", reply_delivery: "push" };
  assert.equal((await send(w, "/ask", folded, "k")).correlation_id, correlation_id);
  for (const other of [{ text: "Now?" }, { to_peer: "eve" }, { reply_delivery: "pull" }]) {
    const refused = await send(w, "/ask", { ...QUESTION, ...other }, "k");
    assert.deepEqual([refused.status, refused.error], [422, "idempotency_mismatch"]);
    assert.equal(refused.idempotency_key, "k");
    assert.equal(refused.replayed, null);
  }
  await send(w, "/notify", QUESTION, "k");
  const note = await send(w, "/notify", { ...QUESTION, text: "Now?" }, "k");
  assert.deepEqual([note.error, note.reason], ["idempotency_mismatch", "idempotency_mismatch"]);
});

Deno.test("a key belongs to its sender and route; a sender is the same by name or by id", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  await addPeer(w, "bob");
  const bodies = [QUESTION, { ...QUESTION, from_peer: "eve" }];
  const ids = new Set<string>();
  for (const body of bodies) ids.add((await send(w, "/ask", body, "k")).correlation_id);
  for (const body of bodies) ids.add((await send(w, "/notify", body, "k")).delivery_id);
  assert.equal(ids.size, 4);
  const by_id = await send(w, "/ask", { ...QUESTION, from_peer: ada.peer_id }, "k");
  assert.equal(by_id.error, "idempotency_mismatch", "The same sender's key, with another body");
});

Deno.test("a refusal is not stored: the key may be used again, and is then stored", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  await addPeer(w, "ada");
  const unknown = await send(w, "/ask", QUESTION, "k");
  assert.deepEqual([unknown.status, unknown.error], [404, "unknown_peer"]);
  const bob = await addPeer(w, "bob");
  await post(w, "/notify", QUESTION);
  assert.equal((await send(w, "/ask", QUESTION, "k")).error, "queue_full");
  await get(w, `/deliveries/pending?peer_id=${bob.peer_id}`);
  await w.tick();
  const drained = await get(w, "/deliveries?state=sent");
  const delivery_ids = drained.deliveries.map((delivery: { delivery_id: string }) =>
    delivery.delivery_id
  );
  await post(w, "/deliveries/receipts", { delivery_ids, status: "accepted" });
  const done = await send(w, "/ask", QUESTION, "k");
  assert.deepEqual([done.status, done.replayed], [200, null]);
  await post(w, `/peers/bob/offline`, { terminal: true });
  const after = await send(w, "/ask", QUESTION, "k");
  assert.deepEqual([after.correlation_id, after.replayed], [done.correlation_id, "true"]);
});

Deno.test("a dry run is not stored, whatever its key", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const body = { ...QUESTION, dry_run: true };
  assert.equal((await send(w, "/ask", body, "k")).replayed, null);
  assert.equal((await send(w, "/ask", body, "k")).replayed, null);
  assert.match((await send(w, "/ask", QUESTION, "k")).correlation_id, /^ask-/);
});

Deno.test("a key is kept for a day, and removed by a tick", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const first = await send(w, "/ask", QUESTION, "k");
  await w.clock.advance(DAY_SECONDS * 1000 - 1);
  assert.equal((await send(w, "/ask", QUESTION, "k")).correlation_id, first.correlation_id);
  await w.clock.advance(1);
  const next = await send(w, "/ask", QUESTION, "k");
  assert.equal(next.replayed, null);
  assert.notEqual(next.correlation_id, first.correlation_id);
  for (let n = 0; n < 3; n++) await send(w, "/notify", QUESTION, `n-${n}`);
  assert.equal(countKeys(w), 4);
  await w.tick(DAY_SECONDS - 1);
  assert.equal(countKeys(w), 4);
  await w.tick();
  assert.equal(countKeys(w), 0);
});

function countKeys(w: World): number {
  const { db } = w.daemon.ctx;
  return db.all(openAsk.returns.partial(), "select 1 from idempotency").length;
}

Deno.test("a key is 1 to 255 printable ASCII characters", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const bad of ["", "x".repeat(256), "caf\u00e9", "a\tb"]) {
    const refused = await send(w, "/notify", QUESTION, bad);
    assert.deepEqual([refused.status, refused.error], [422, "invalid_request"], bad);
    assert.equal(refused.issues[0].path, "idempotency-key");
  }
  for (const good of ["x".repeat(255), "~ !", `"quoted", twice`]) {
    assert.equal((await send(w, "/notify", QUESTION, good)).status, 200, good);
  }
  const bare = await send(w, "/notify", { to_peer: "bob" }, "");
  assert.equal(bare.issues[0].path, "from_peer", "The body is looked at before the key");
  assert.equal((await send(w, "/ask", {}, "")).error, "no_target");
});

Deno.test("two requests of one turn, and many concurrent ones, run once", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const many = await Promise.all(
    Array.from({ length: 20 }, () => send(w, "/ask", QUESTION, "k")),
  );
  assert.equal(new Set(many.map(({ correlation_id }) => correlation_id)).size, 1);
  assert.equal(many.filter(({ replayed }) => replayed === null).length, 1);
  assert.equal((await get(w, "/asks")).asks.length, 1);
});

Deno.test("on a WebSocket the key is a field of the verb", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  const verb = { type: "ask", to_peer: "bob", text: "Ready?", idempotency_key: "k" };
  for (const request_id of ["1", "2"]) await ada.send({ ...verb, request_id });
  await ada.send({ ...verb, request_id: "3", text: "Now?" });
  const [first, second, third] = ada.of("result") as Record<string, unknown>[];
  assert.equal(second?.["correlation_id"], first?.["correlation_id"]);
  assert.equal(third?.["error"], "idempotency_mismatch");
  assert.equal(bob.of("ask").length, 1);
  const http = await send(w, "/ask", { ...QUESTION, from_peer: peerId(w, "ada") }, "k");
  assert.equal(http.correlation_id, first?.["correlation_id"]);
  await ada.send({ ...verb, request_id: "4", idempotency_key: "" });
  assert.equal(ada.of("error")[0]?.error, "bad_frame");
});

function peerId(w: World, name: string): string {
  return w.daemon.directory.find(name).peer_id;
}

Deno.test("a tool takes the key as an argument", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const call = async (name: string, args: Record<string, unknown>) => {
    const params = { name, arguments: { message: "Ready?", idempotency_key: "k", ...args } };
    const rpc = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const response = await w.post("/mcp", rpc, { "content-type": "application/json" });
    return (await response.json()).result.structuredContent;
  };
  for (
    const [name, args] of [["ask", { peer: "bob" }], ["notify_peer", { peer: "bob" }]] as const
  ) {
    const first = await call(name, args), second = await call(name, args);
    assert.equal(
      second.correlation_id ?? second.delivery_id,
      first.correlation_id ?? first.delivery_id,
    );
    assert.equal((await call(name, { ...args, message: "Now?" })).error, "idempotency_mismatch");
  }
  assert.deepEqual(await call("broadcast", {}), await call("broadcast", {}));
  assert.equal((await call("broadcast", { idempotency_key: "" })).error, "invalid_request");
  const received = [bob.of("ask"), bob.of("notify"), bob.of("broadcast")];
  assert.deepEqual(received.map(({ length }) => length), [1, 1, 1]);
});

Deno.test("a repeat after a restart is answered with the same ids, and nothing is sent again", async () => {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds() };
  const start = () => world({ ...shared, db_path: pathOf(directory, "mesh.db") });
  try {
    let w = start();
    await addPeer(w, "ada");
    await addPeer(w, "bob");
    const before = await send(w, "/ask", QUESTION, "k");
    const noted = await send(w, "/notify", QUESTION, "k");
    await w[Symbol.asyncDispose]();
    w = start();
    await using _ = w;
    const again = await send(w, "/ask", QUESTION, "k");
    // Both peers are offline after the restart.
    assert.deepEqual(again, { ...before, reason: "no_transport", replayed: "true" });
    assert.equal((await send(w, "/notify", QUESTION, "k")).delivery_id, noted.delivery_id);
    const bob = await connectPeer(w, "bob", { peer_id: before.to_peer_id });
    await w.clock.settle();
    assert.deepEqual([bob.of("ask").length, bob.of("notify").length], [1, 1]);
    assert.equal((await send(w, "/ask", QUESTION, "k")).delivery_state, "sent");
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
});

Deno.test("with a full disk neither message nor key is stored; with space again the retry runs", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const body = { ...QUESTION, text: "x".repeat(200_000) };
  const { db } = w.daemon.ctx;
  db.transact((tx) => tx.run("pragma max_page_count = 60"));
  const failed = await send(w, "/ask", body, "k");
  assert.deepEqual([failed.status, failed.error], [503, "storage_failed"]);
  assert.deepEqual([countKeys(w), (await get(w, "/asks")).asks.length], [0, 0]);
  db.transact((tx) => tx.run("pragma max_page_count = 1000000"));
  const done = await send(w, "/ask", body, "k");
  assert.deepEqual([done.status, done.replayed], [200, null]);
  assert.equal((await send(w, "/ask", body, "k")).correlation_id, done.correlation_id);
});

Deno.test("the OpenAPI document shows the key, the replay header, and the refusals", async () => {
  await using w = world();
  const { paths } = await get(w, "/openapi.json");
  for (const path of ["/ask", "/notify", "/broadcast"]) {
    const { parameters, responses } = paths[path].post;
    const key = parameters.find(({ in: parameterIn }: { in: string }) => parameterIn === "header");
    assert.deepEqual([key.name, key.required], ["Idempotency-Key", false]);
    assert.ok("Idempotent-Replay" in responses[200].headers);
    assert.match(responses[409].description, /idempotency_in_progress/);
    assert.match(responses[422].description, /idempotency_mismatch/);
  }
  assert.equal(paths["/ack"].post.parameters, undefined);
});

Deno.test("a reply to an inbox item with a key is sent once, and to each item of its own", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await connectPeer(w, "api");
  const notes = ["Built", "Tested"].map((text) => ({ from_peer: "api", to_peer: "sam", text }));
  const [built, tested] = [
    await send(w, "/notify", notes[0], "1"),
    await send(w, "/notify", notes[1], "2"),
  ];
  const path = `/inbox/${built.inbox_item_id}/reply`;
  const reply = { surface: "dashboard", text: "Why?" };
  const first = await send(w, path, reply, "k");
  assert.deepEqual(await send(w, path, reply, "k"), { ...first, replayed: "true" });
  assert.equal(api.of("ask").length, 1);
  const other = await send(w, path, { ...reply, text: "When?" }, "k");
  assert.deepEqual([other.status, other.error], [422, "idempotency_mismatch"]);
  const second = await send(w, `/inbox/${tested.inbox_item_id}/reply`, reply, "k");
  assert.deepEqual([second.action, second.replayed], ["asked", null]);
  assert.equal(api.of("ask").length, 2);
});
