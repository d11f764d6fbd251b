/** A connected peer hears what has changed of its own record. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { get, join, post, said } from "../../../support/daemon/peer_clients.ts";

Deno.test("a connected peer is told its record when that changes, and nobody else is", async () => {
  await using w = world();
  const ada = await join(w, "ada");
  const bob = await join(w, "bob");
  const { peer_id } = await get(w, "/peers/bob");
  assert.deepEqual(bob.of("peer_update"), []);
  await post(w, "/peers/bob/name", { name: "rob" });
  const [renamed] = bob.of("peer_update");
  assert.deepEqual(renamed, {
    type: "peer_update",
    peer_id,
    peer: renamed?.peer,
  });
  const { status: _, restart: _restart, ...peer } = await get(w, "/peers/rob");
  const { status, ...told } = Object(renamed?.peer);
  assert.deepEqual([status, told], ["online", peer]);
  await post(w, "/peers/rob/provenance", { addressable: false });
  const { peer: after } = bob.of("peer_update").at(-1) ?? {};
  assert.equal(Object(after).addressable, false);
  assert.deepEqual(ada.of("peer_update"), []);
});

Deno.test("the event of a new name names it", async () => {
  await using w = world();
  await join(w, "bob");
  await post(w, "/peers/bob/name", { name: "rob" });
  assert.deepEqual(said(w, "peer_updated").map(({ name }) => name), ["rob"]);
});
