/** Every message is stored before it is sent, and only its reader proves it. */

import assert from "node:assert/strict";
import { countingIds } from "../../../support/ids.ts";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

async function stateOf(w: World, id: string): Promise<[string, string | null]> {
  const { state, reason } = await get(w, `/messages/${id}`);
  return [state, reason];
}

Deno.test("a message that is not stored is not sent", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { ctx: { db }, notifications } = w.daemon;
  const body = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  assert.throws(() =>
    db.transact(() => {
      notifications.notify(body, { proven_human: false });
      throw new Error("refused afterwards");
    }), /refused afterwards/);
  await w.clock.settle();
  assert.deepEqual(bob.of("notify"), []);
  assert.deepEqual((await get(w, "/messages")).messages, []);
});

Deno.test("a declined ask has arrived", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  await post(w, "/decline", { correlation_id, reason: "No time" });
  assert.deepEqual(await stateOf(w, correlation_id), ["accepted", null]);
});

Deno.test("a message without a receipt is not sent again after a crash; one with receipts is", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "mesh-test-" });
  const options = { db_path: `${folder}/mesh.db`, ids: countingIds() };
  try {
    const first = world(options);
    const plain = await addPeer(first, "plain"), careful = await addPeer(first, "careful");
    const toPlain = await notify(first, "ada", "plain"),
      toCareful = await notify(first, "ada", "careful");
    first.daemon.ctx.db.transact((tx) => {
      tx.run("update messages set state = 'attempting', rung = 'websocket'");
      tx.run("update messages set repeatable = 1 where to_peer_name = 'careful'");
    });
    await first[Symbol.asyncDispose]();
    await using w = world(options);
    assert.deepEqual(await stateOf(w, toPlain.delivery_id ?? ""), ["sent", "daemon_restart"]);
    assert.deepEqual(await stateOf(w, toCareful.delivery_id ?? ""), ["queued", "daemon_restart"]);
    const again = await connectPeer(w, "plain", { peer_id: plain.peer_id });
    const repeated = await connectPeerWithReceipts(w, "careful", { peer_id: careful.peer_id });
    await w.clock.settle();
    assert.deepEqual([again.of("notify").length, repeated.of("notify").length], [0, 1]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("a message that went out never expires, and is not sent again once its time is over", async () => {
  await using w = world({ settings: { "daemon.queue.ttl_seconds": "60" } });
  const bob = await connectPeerWithReceipts(w, "bob");
  const { delivery_id = "" } = await notify(w, "ada", "bob");
  await w.tick(61);
  assert.deepEqual(await stateOf(w, delivery_id), ["sent", null]);
  await bob.drop();
  const { peer_id } = w.daemon.directory.find("bob");
  const back = await connectPeerWithReceipts(w, "bob", { peer_id });
  assert.deepEqual(back.of("notify"), []);
});

Deno.test("a prompt proves only messages that were sent to its own peer", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await connectPeer(w, "eve");
  const waiting = await notify(w, "ada", "bob"), sent = await notify(w, "ada", "eve");
  for (const { delivery_id } of [waiting, sent]) {
    await post(w, "/peers/bob/turn", { prompt: `[mesh] id="${delivery_id}"` });
  }
  assert.deepEqual((await stateOf(w, waiting.delivery_id ?? ""))[0], "queued");
  assert.deepEqual((await stateOf(w, sent.delivery_id ?? ""))[0], "sent");
});
