/** A backlog is replayed no faster than its reader takes it. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  connectPeer,
  connectPeerWithReceipts,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

const MIB = 1024 * 1024;

Deno.test("a backlog larger than a reader's limit does not make the reader a slow one", async () => {
  await using w = world();
  await connectPeer(w, "ada");
  const bob = await connectPeerWithReceipts(w, "bob");
  await bob.drop();
  const text = "x".repeat(MIB / 4);
  for (let n = 0; n < 20; n++) await notify(w, "ada", "bob", text);
  const back = w.socket();
  back.buffered = 2 * MIB; // Earlier data is not taken yet.
  await back.connect({ display_name: "bob", capabilities: ["delivery_receipts"] });
  await w.tick();
  assert.deepEqual([back.of("notify").length, back.closed], [0, undefined]);
  await notify(w, "ada", "bob", "the newest comes last");
  back.buffered = MIB;
  await w.clock.advance(20);
  back.buffered = 0;
  await w.clock.advance(20);
  const texts = back.of("notify").map((note) => note.text.length);
  assert.deepEqual(texts, [...Array<number>(20).fill(MIB / 4), "the newest comes last".length]);
  assert.equal(back.closed, undefined);
});

Deno.test("a replay that paused for a reader that left is continued by the next one", async () => {
  await using w = world();
  await connectPeer(w, "ada");
  await (await connectPeerWithReceipts(w, "bob")).drop();
  await notify(w, "ada", "bob");
  const first = w.socket();
  first.buffered = 3 * MIB;
  await first.connect({ display_name: "bob", capabilities: ["delivery_receipts"] });
  await first.drop();
  const second = await connectPeerWithReceipts(w, "bob");
  await w.clock.advance(20);
  assert.deepEqual([first.of("notify").length, second.of("notify").length], [0, 1]);
});

Deno.test("a reader that is full for a moment is not disconnected, and gets the rest in order", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  await notify(w, "ada", "bob", "1");
  bob.buffered = 17 * MIB;
  const states = [await notify(w, "ada", "bob", "2"), await notify(w, "ada", "bob", "3")]
    .map(({ delivery_state }) => delivery_state);
  assert.deepEqual(states, ["queued", "queued"]);
  await w.tick();
  bob.buffered = 0;
  await w.tick();
  await notify(w, "ada", "bob", "4");
  assert.deepEqual(bob.of("notify").map(({ text }) => text), ["1", "2", "3", "4"]);
  bob.buffered = 17 * MIB; // Data that was sent long ago does not count.
  await w.tick();
  assert.equal(bob.closed, undefined);
});

Deno.test("a message that arrives while a queue is sent comes after the queue", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  await post(w, "/peers/bob/offline");
  await notify(w, "ada", "bob", "1");
  bob.buffered = 3 * MIB; // More than a queue may be added to.
  await post(w, "/peers/bob/touch");
  await w.clock.settle();
  assert.equal((await notify(w, "ada", "bob", "2")).delivery_state, "queued");
  bob.buffered = 0;
  await w.tick();
  assert.deepEqual(bob.of("notify").map(({ text }) => text), ["1", "2"]);
});
