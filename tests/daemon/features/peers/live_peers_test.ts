/** The list of peers without those that have been gone for long. */

import assert from "node:assert/strict";
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
