/** A connected peer is told about changes of its own record. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { connectPeer, eventData, get, post } from "../../../support/daemon/peer_clients.ts";

Deno.test("only the peer itself is notified of changes of its record", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  const { peer_id } = await get(w, "/peers/bob");
  assert.deepEqual(bob.of("peer_update"), []);
  await post(w, "/peers/bob/name", { name: "rob" });
  const [renamed] = bob.of("peer_update");
  assert.deepEqual(renamed, {
    type: "peer_update",
    peer_id,
    peer: renamed?.peer,
  });
  const { status: _, restart: _restart, children: _children, children_count: _count, ...peer } =
    await get(w, "/peers/rob");
  const { status, ...peerFields } = Object(renamed?.peer);
  assert.deepEqual([status, peerFields], ["online", peer]);
  await post(w, "/peers/rob/provenance", { addressable: false });
  const { peer: after } = bob.of("peer_update").at(-1) ?? {};
  assert.equal(Object(after).addressable, false);
  assert.deepEqual(ada.of("peer_update"), []);
});

Deno.test("the event of a rename holds the new name", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  await post(w, "/peers/bob/name", { name: "rob" });
  assert.deepEqual(eventData(w, "peer_updated").map(({ name }) => name), ["rob"]);
});
