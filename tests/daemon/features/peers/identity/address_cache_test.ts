/** Addresses in memory: after any change, they are those of the table. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { Problem } from "protocol/problems.ts";
import { ANSWERS_MAX } from "../../../../../daemon/data/table_view.ts";
import { AddressCache } from "../../../../../daemon/features/peers/identity/address_cache.ts";
import { looksLike } from "protocol/peers/lookalikes.ts";
import { isReserved } from "protocol/peers/record.ts";
import * as rows from "../../../../../daemon/features/peers/store.ts";
import { type World, world } from "../../../../support/world.ts";

const NAMES = ["api", "web", "sam", "s4m", "s.am", "mesh", "nobody"];

/** Fails unless all answers in memory are those of SQL. */
function audit({ daemon }: World, cache: AddressCache): void {
  const { db } = daemon.ctx;
  const human = rows.human(db);
  for (const { peer_id } of rows.all(db)) {
    assert.deepEqual(cache.byId(peer_id), rows.address(db, peer_id));
    assert.deepEqual(daemon.directory.address(peer_id), rows.address(db, peer_id));
  }
  for (const name of NAMES) {
    assert.deepEqual(cache.byName(name), rows.byName(db, name));
    const isLookalike = human !== undefined && looksLike(name, human.name);
    assert.equal(cache.isReserved(name), isLookalike || isReserved(name));
  }
  assert.deepEqual(cache.human(), human);
  for (const circle of ["default", "elsewhere"]) {
    assert.deepEqual(cache.members(circle), rows.members(db, circle));
  }
}

const Change = fc.record({
  what: fc.constantFrom(
    ...["register", "rename", "offline", "unregister", "role", "provenance", "human"],
    ...["tick", "rollback"],
  ),
  name: fc.constantFrom(...NAMES),
});

Deno.test("after any changes of peers, the addresses in memory are those of the table", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Change, { maxLength: 12 }), async (changes) => {
      await using w = world();
      const cache = new AddressCache(w.daemon.ctx.db);
      audit(w, cache);
      for (const { what, name } of changes) {
        await apply(w, cache, what, name);
        audit(w, cache);
      }
    }),
    { numRuns: 40 },
  );
});

async function apply(w: World, cache: AddressCache, what: string, name: string): Promise<void> {
  const { ctx, peers } = w.daemon;
  const [peer] = rows.byName(ctx.db, name);
  const registration = { name, path: `/work/${name}`, backend: "sdk" };
  if (what === "register") await w.post("/peers", registration);
  if (what === "human") await w.post("/peers", { ...registration, role: "human" });
  if (what === "tick") await w.tick();
  if (!peer) return;
  const path = `/peers/${peer.peer_id}`;
  if (what === "rename") await w.post(`${path}/name`, { name: "nobody" });
  if (what === "offline") await w.post(`${path}/offline`, { reason: "gone" });
  if (what === "unregister") await w.fetch(path, { method: "DELETE" });
  if (what === "role") await w.post(`${path}/role`, { role: "orchestrator" });
  if (what === "provenance") await w.post(`${path}/provenance`, { addressable: false });
  if (what === "rollback") {
    assert.throws(() =>
      ctx.db.transact(() => {
        peers.markSeen(peer.peer_id, "test");
        ctx.db.transact((tx) => {
          const stored = rows.get(ctx.db, peer.peer_id);
          if (stored) rows.update(tx, { ...stored, name: "renamed" });
        });
        audit(w, cache);
        throw new Problem("no_target", {});
      }), Problem);
  }
}

Deno.test("names that no peer has take the place of older answers in memory", async () => {
  await using w = world();
  await w.post("/peers", { name: "api", path: "/work", backend: "sdk" });
  const cache = new AddressCache(w.daemon.ctx.db);
  const first = cache.byName("api");
  assert.equal(cache.byName("api"), first);
  for (let count = 0; count <= ANSWERS_MAX; count++) cache.byName(`name-${count}`);
  assert.notEqual(cache.byName("api"), first); // It was read again.
  assert.deepEqual(cache.byName("api"), first);
});
