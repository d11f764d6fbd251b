/** Open asks: of unregistered senders, over restarts, in chains. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";

/** A world with a human whose daemon can restart. */
const restartable = () => restartableWorld({ settings: { "human.name": "sam" } });

async function outstandingIds(w: World, name: string): Promise<string[]> {
  const query = `peer_id=${encodeURIComponent(name)}&direction=outbound`;
  const { asks } = await get(w, `/asks/pending?${query}`);
  return asks.map(({ correlation_id }: { correlation_id: string }) => correlation_id);
}

Deno.test("an unregistered sender finds its asks, also after a restart", async () => {
  using at = restartable();
  let w = at.start();
  await addPeer(w, "bob");
  const ownAsks = [await ask(w, "mcp-a.b_c", "bob"), await ask(w, "mcp-a.b_c", "sam")];
  await ask(w, "mcp-other", "bob");
  const closed = await ask(w, "mcp-a.b_c", "bob");
  await post(w, "/ack", { correlation_id: closed });
  assert.deepEqual(await outstandingIds(w, "mcp-a.b_c"), ownAsks);
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.deepEqual(await outstandingIds(w, "mcp-a.b_c"), ownAsks);
  const [kept] = (await get(w, "/asks/pending?peer_id=mcp-other&direction=outbound")).asks;
  assert.deepEqual([kept.from_peer_id, kept.from_peer_name], [null, "mcp-other"]);
  assert.deepEqual(await outstandingIds(w, "mcp-nobody"), []);
});

Deno.test("a wait that is repeated after a restart gets the answer", async () => {
  using at = restartable();
  let w = at.start();
  await addPeer(w, "bob");
  const [early, late] = [await ask(w, "a-stranger", "bob"), await ask(w, "a-stranger", "bob")];
  const wait = (id: string) => post(w, `/asks/${id}/wait`, { peer_id: "a-stranger" });
  const cut = wait(early);
  await w.clock.settle();
  await w[Symbol.asyncDispose]();
  assert.equal((await cut).status, "pending");
  w = at.start();
  await using _ = w;
  assert.equal((await get(w, `/asks/${early}`)).reply_delivery, "pull");
  await post(w, "/ack", { correlation_id: early, message: "Yes" });
  assert.equal((await wait(early)).reply, "Yes");
  const waiting = wait(late);
  await w.clock.settle();
  await post(w, "/decline", { correlation_id: late, reason: "Busy" });
  assert.deepEqual([(await waiting).outcome, (await wait(late)).reply], ["declined", "Busy"]);
});

Deno.test("the origin of an ask is stored and shown", async () => {
  using at = restartable();
  let w = at.start();
  await addPeer(w, "bob");
  const origin = { surface: "telegram", ref: "41" };
  const id = await ask(w, "telegram", "bob", "Ready?", { origin });
  assert.deepEqual((await get(w, `/asks/${id}`)).origin, origin);
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.deepEqual((await get(w, `/asks/${id}`)).origin, origin);
  const [listed] = (await get(w, "/asks/pending?peer_id=sam&direction=outbound")).asks;
  assert.deepEqual([listed.origin, listed.from_peer_name], [origin, "sam"]);
  for (const wrong of ["telegram", { surface: "telegram" }, { surface: 1, ref: "1" }]) {
    const body = { from_peer: "sam", to_peer: "bob", text: "Hi", origin: wrong };
    assert.equal((await post(w, "/ask", body)).status, 422);
  }
});

Deno.test("a chain of follow-ups has one open ask at a time, each with its predecessor", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  const first = await ask(w, "ada", "bob");
  const second = await ask(w, "bob", "ada", "Which one?", { reply_to: first });
  const third = await ask(w, "ada", "bob", "The red one", { reply_to: second });
  await w.clock.settle();
  assert.deepEqual(
    (await get(w, "/asks")).asks.map((record: Record<string, string>) => [
      record["correlation_id"],
      record["reply_to"],
      record["close_reason"],
    ]),
    [[third, second, null], [second, first, "reply_to"], [first, null, "reply_to"]],
  );
  assert.equal(ada.of("ask")[0]?.reply_to, first);
  assert.equal(bob.of("ask")[1]?.reply_to, second);
  assert.deepEqual(eventData(w, "ack").map(({ outcome }) => outcome), ["failed", "failed"]);
  const fourth = await ask(w, "ada", "bob", "And now?", { reply_to: third });
  assert.equal(
    (await get(w, `/asks/${third}`)).state,
    "open",
    "The asker's own follow-up does not close it",
  );
  assert.equal((await get(w, `/asks/${fourth}`)).reply_to, third);
});

Deno.test("a first wait and a concurrent answer deliver the reply once", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const [waited] = await Promise.all([
    post(w, `/asks/${id}/wait`, { peer_id: "ada" }),
    post(w, "/ack", { correlation_id: id, message: "Yes" }),
  ]);
  await w.clock.settle();
  assert.equal(waited.reply, "Yes");
  const { reply_delivery } = await get(w, `/asks/${id}`);
  assert.equal(ada.of("ack").length, reply_delivery === "pull" ? 0 : 1);
});

Deno.test("the peer list and the peer record show the same count of pending asks", async () => {
  await using w = world();
  for (const name of ["ada", "bob", "eve"]) await addPeer(w, name);
  await ask(w, "x", "bob");
  await w.clock.advance(2000);
  await ask(w, "x", "bob");
  await post(w, "/ack", { correlation_id: await ask(w, "x", "eve") });
  const { peers } = await get(w, "/peers");
  const counted = peers.map((peer: Record<string, unknown>) => [
    peer["name"],
    peer["pending_ask_count"],
    peer["oldest_pending_age_seconds"],
  ]);
  assert.deepEqual(new Set(counted), new Set([["ada", 0, null], ["bob", 2, 2], ["eve", 0, null]]));
  const bob = await get(w, "/peers/bob");
  assert.deepEqual([bob.pending_ask_count, bob.oldest_pending_age_seconds], [2, 2]);
});

Deno.test("an answer to an asker that has retired leaves no message behind", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  await post(w, "/peers/ada/offline", { terminal: true });
  await post(w, "/ack", { correlation_id, message: "Yes" });
  assert.equal((await get(w, `/asks/${correlation_id}`)).reply, "Yes");
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 1 }); // The ask alone.
});
