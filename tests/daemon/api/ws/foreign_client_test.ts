/** Frames of clients that were written for another mesh: what they leave out, or call otherwise. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("a pong without a ping_id keeps the connection", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  for (let pings = 1; pings <= 3; pings++) {
    await w.tick(20);
    assert.equal(bob.of("ping").length, pings);
    await bob.send({ type: "pong" });
  }
  assert.deepEqual([bob.closed, bob.of("error")], [undefined, []]);
});

Deno.test("a status without a turn state keeps the one before", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  await bob.send({ type: "status", status: "busy", turn_state: "working" });
  await bob.send({ type: "status", status: "online", turn_state: null });
  const { status, turn_state } = await get(w, "/peers/bob");
  assert.deepEqual([status, turn_state, bob.of("error")], ["online", "working", []]);
});

Deno.test("a delivery_ack that says injected counts as accepted", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await bob.send({ type: "delivery_ack", delivery_id, status: "injected" });
  const { state } = await get(w, `/messages/${delivery_id}`);
  assert.deepEqual([state, bob.of("error")], ["accepted", []]);
});
