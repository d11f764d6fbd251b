/** Group commit: writes that no caller waits for share a later commit. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

async function withPeers() {
  const w = world();
  const ada = await connectPeerWithReceipts(w, "ada");
  const bob = await connectPeerWithReceipts(w, "bob");
  await w.clock.advance(20);
  return { w, ada, bob };
}

/** The number of commits since the last call. */
function commitCounter({ daemon: { ctx: { db } } }: World) {
  let before = db.commits;
  return () => {
    const since = db.commits - before;
    before = db.commits;
    return since;
  };
}

const stateOf = (w: World, id: string) => w.daemon.delivery.findMessage(id)?.state;

Deno.test("a frame's sent mark and its receipt are committed together within 10 ms", async () => {
  const { w, bob } = await withPeers();
  await using _ = w;
  const commits = commitCounter(w);
  const { delivery_id, delivery_state } = await notify(w, "ada", "bob");
  assert.deepEqual([delivery_state, commits()], ["sent", 1]);
  await bob.send({ type: "delivery_ack", delivery_id, status: "seen" });
  assert.deepEqual([stateOf(w, delivery_id), commits()], ["seen", 0]);
  await w.clock.advance(10);
  await w.clock.settle();
  assert.equal(commits(), 1);
});

Deno.test("a message's sent mark is committed with the next message", async () => {
  const { w } = await withPeers();
  await using _ = w;
  const commits = commitCounter(w);
  for (let count = 0; count < 5; count++) {
    await notify(w, "ada", "bob");
    await w.clock.settle();
  }
  assert.equal(commits(), 5);
});

Deno.test("a frame goes out before its message is marked as sent", async () => {
  const { w, bob } = await withPeers();
  await using _ = w;
  const { ctx: { db }, notifications } = w.daemon;
  const message = { from_peer: "ada", to_peer: "bob", text: "Hello" };
  const { ticket } = notifications.notify(message, { proven_human: false });
  const id = ticket.message.delivery_id;
  await db.whenDurable();
  await Promise.resolve();
  assert.deepEqual([bob.of("notify").length, ticket.state], [1, "sent"]);
  assert.equal(stateOf(w, id), "attempting");
  await w.clock.settle();
  assert.equal(stateOf(w, id), "sent");
});

Deno.test("a message whose socket closes before its mark is reported as sent, then as queued", async () => {
  const { w, bob } = await withPeers();
  await using _ = w;
  const { ctx: { db, events }, notifications } = w.daemon;
  const states: string[] = [];
  using _reader = events.subscribe({ delivery: ({ state }) => void states.push(state) });
  const message = { from_peer: "ada", to_peer: "bob", text: "Hello" };
  notifications.notify(message, { proven_human: false });
  await db.whenDurable();
  await bob.drop();
  await w.clock.advance(20);
  assert.deepEqual(states, ["attempting", "sent", "queued"]);
});

Deno.test("the frames of a broadcast are marked, and the messages between them stay queued", async () => {
  const { w } = await withPeers();
  await using _ = w;
  const live = ["carl", "dora", "emil", "faye"];
  for (const name of live) {
    await connectPeer(w, name);
    await addPeer(w, `silent-${name}`);
  }
  const sent = await post(w, "/broadcast", { from_peer: "ada", text: "Hello" });
  await w.clock.settle();
  const sent_to: { name: string; delivery_id: string }[] = sent.sent_to;
  assert.equal(sent_to.length, 2 * live.length + 1);
  for (const { name, delivery_id } of sent_to) {
    assert.equal(stateOf(w, delivery_id), name.startsWith("silent") ? "queued" : "sent");
  }
});

Deno.test("a rejection is committed at once, and its sender is notified", async () => {
  const { w, bob } = await withPeers();
  await using _ = w;
  const { delivery_id } = await notify(w, "ada", "bob");
  const commits = commitCounter(w);
  await bob.send({ type: "delivery_ack", delivery_id, status: "failed" });
  await w.clock.settle();
  assert.deepEqual([stateOf(w, delivery_id), commits()], ["failed", 1]);
});

Deno.test("the first wait for a reply needs no commit of its own", async () => {
  const { w } = await withPeers();
  await using _ = w;
  const id = await ask(w, "ada", "bob");
  const commits = commitCounter(w);
  const waiting = post(w, `/asks/${id}/wait`, { peer_id: "ada" });
  await w.clock.settle();
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  assert.deepEqual([(await waiting).reply, commits()], ["Yes", 1]);
});
