/** Messages that are sent a second time. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("a message that is sent again counts as sent, and its missing proof is reported", async () => {
  await using w = world();
  const careful = await connectPeerWithReceipts(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await careful.drop();
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.state, "queued");
  const plain = await connectPeer(w, "bob");
  assert.equal(plain.of("notify").length, 1);
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.state, "sent");
  await w.tick(31);
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.equal(stages.at(-1).stage, "unproved");
});
