/** Answers to the sender of a message that cannot be delivered. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("an asker reads the receiver's reason for rejecting its ask", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  const bob = await connectPeerWithReceipts(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  const delivery_id = bob.of("ask")[0]?.delivery_id;
  await bob.send({ type: "delivery_ack", delivery_id, status: "failed", detail: "no room left" });
  const { close_reason, reply } = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([close_reason, reply], ["send_failed", "no room left"]);
  assert.equal(ada.of("ack")[0]?.text, "no room left");
});

Deno.test("a notification to null or to a blank name is to an unknown peer", async () => {
  await using w = world();
  await addPeer(w, "ada");
  for (const to_peer of [null, "", "  "]) {
    const response = await post(w, "/notify", { from_peer: "ada", to_peer, text: "Hi" });
    const { status, error, reason, detail } = response;
    const expected = [404, "unknown_peer", "unknown_peer", `Unknown peer: ${to_peer}`];
    assert.deepEqual([status, error, reason, detail], expected);
  }
  const response = await post(w, "/notify", { from_peer: "ada", to_peer: 5, text: "Hi" });
  assert.deepEqual([response.status, response.error], [422, "invalid_request"]);
});
