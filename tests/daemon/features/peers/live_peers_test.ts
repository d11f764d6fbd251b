/** The list of peers without those that have been gone for long. */

import assert from "node:assert/strict";
import * as z from "zod";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

const DAY = 86_400;

async function names(w: World, query: string): Promise<string[]> {
  const { peers } = await get(w, `/peers${query}`);
  return peers.map(({ name }: { name: string }) => name).sort();
}

Deno.test("the live peers are those that are not retired, nor offline for more than a week", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "old");
  await addPeer(w, "retired");
  await post(w, "/peers/old/offline");
  await post(w, "/peers/retired/offline", { terminal: true });
  await w.clock.advance(6 * DAY * 1000);
  await connectPeer(w, "online");
  await addPeer(w, "away");
  await post(w, "/peers/away/offline");
  const everybody = ["away", "old", "online", "retired", "sam"];
  assert.deepEqual(await names(w, "?live=true"), ["away", "old", "online", "sam"]);
  await w.clock.advance(2 * DAY * 1000);
  assert.deepEqual(await names(w, "?live=true"), ["away", "online", "sam"]);
  assert.deepEqual(await names(w, ""), everybody);
  assert.deepEqual(await names(w, "?live=false"), everybody);
});

Deno.test("a list of many peers lets other requests run, and is in the order of registration", async () => {
  await using w = world();
  await addPeer(w, "ada");
  const { db } = w.daemon.ctx;
  const columns = db.values(z.string(), "select name from pragma_table_info('peers')")
    .filter((name) => !["peer_id", "name", "registered_at"].includes(name)).join(", ");
  db.transactNow((tx) =>
    tx.run(
      `with recursive copy (number) as
         (select 1 union all select number + 1 from copy where number < 700)
       insert into peers (peer_id, name, registered_at, ${columns})
       select printf('peer-%012x', 1000000 - number), 'copy', registered_at + number, ${columns}
       from copy join peers on name = 'ada'`,
    )
  );
  let finished = false;
  const list = get(w, "/peers").finally(() => finished = true);
  assert.equal((await get(w, "/health")).status, "ok");
  assert.equal(finished, false, "other requests are answered first");
  await w.fetch("/peers/ada", { method: "DELETE" });
  while (!finished) await w.clock.advance(0);
  const { peers } = await list;
  const registered = peers.map(({ registered_at }: { registered_at: string }) => registered_at);
  assert.deepEqual(registered, registered.toSorted());
  assert.equal(peers.length, 701);
  assert.deepEqual(await names(w, "?circle=elsewhere"), []);
});
