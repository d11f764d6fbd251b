/** `Idempotency-Key` on asks to many. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  eventTypesSince,
  get,
} from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";

const QUESTION = { from_peer: "ada", to_peers: ["bob", "ghost", "eve"], text: "Ready?" };

/** Posts with a key; returns status, whether it is a replay, and the response. */
async function send(w: World, key: string, body: unknown = QUESTION) {
  const response = await w.post("/asks/many", body, { "idempotency-key": key });
  const replayed = response.headers.get("idempotent-replay");
  return { status: response.status, replayed, ...await response.json() };
}

async function addThreePeers(w: World) {
  for (const name of ["ada", "eve"]) await addPeer(w, name);
  return await connectPeer(w, "bob");
}

Deno.test("an ask to many that is repeated with its key is opened once", async () => {
  await using w = world();
  const bob = await addThreePeers(w);
  const first = await send(w, "k");
  assert.deepEqual([first.status, first.replayed, first.children.length], [200, null, 3]);
  assert.equal(first.children[1].error, "unknown_peer");
  const at = w.events.length;
  assert.deepEqual(await send(w, "k"), { ...first, replayed: "true" });
  assert.deepEqual(eventTypesSince(w, at), []);
  assert.equal(bob.of("ask").length, 1);
  assert.equal((await get(w, "/asks")).asks.length, 2);
  const { parent_id } = await send(w, "another");
  assert.notEqual(parent_id, first.parent_id);
});

Deno.test("a key belongs to one sender and one body", async () => {
  await using w = world();
  await addThreePeers(w);
  const first = await send(w, "k");
  const other = await send(w, "k", { ...QUESTION, text: "Now?" });
  assert.deepEqual([other.status, other.error], [422, "idempotency_mismatch"]);
  const eve = await send(w, "k", { ...QUESTION, from_peer: "eve" });
  assert.deepEqual([eve.status, eve.replayed], [200, null]);
  assert.notEqual(eve.parent_id, first.parent_id);
});

Deno.test("if no recipient can be asked, nothing is stored, and the key can be used again", async () => {
  await using w = world();
  const failed = await send(w, "k");
  assert.deepEqual([failed.status, failed.error], [404, "unknown_peer"]);
  await addThreePeers(w);
  const done = await send(w, "k");
  assert.deepEqual([done.status, done.replayed], [200, null]);
  assert.equal(eventData(w, "ask").length, 2);
});

Deno.test("a recipient with a full queue fails alone, with and without a key", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  await addThreePeers(w);
  const codes = async (key: string) =>
    (await send(w, key)).children.map(({ error }: { error?: string }) => error ?? null);
  assert.deepEqual(await codes("first"), [null, "unknown_peer", null]);
  assert.deepEqual(await codes("second"), [null, "unknown_peer", "queue_full"]);
  assert.equal((await get(w, "/asks")).asks.length, 3);
});

Deno.test("with a full disk, neither the asks nor the key are stored", async () => {
  await using w = world();
  const bob = await addThreePeers(w);
  const { db } = w.daemon.ctx;
  db.transact((tx) => tx.run("pragma max_page_count = 60"));
  const failed = await send(w, "k", { ...QUESTION, text: "x".repeat(200_000) });
  assert.deepEqual([failed.status, failed.error], [503, "storage_failed"]);
  db.transact((tx) => tx.run("pragma max_page_count = 1000000"));
  assert.deepEqual([(await get(w, "/asks")).asks.length, bob.of("ask").length], [0, 0]);
  assert.equal((await send(w, "k")).replayed, null);
});

Deno.test("a repeat after a restart returns the same ids, and opens no ask", async () => {
  using at = restartableWorld();
  let w = at.start();
  await addThreePeers(w);
  const before = await send(w, "k");
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.deepEqual(await send(w, "k"), { ...before, replayed: "true" });
  assert.equal((await get(w, "/asks")).asks.length, 2);
  assert.equal((await get(w, `/asks/many/${before.parent_id}`)).state, "pending");
});
