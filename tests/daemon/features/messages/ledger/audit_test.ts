/** The conservation count, unaccounted messages, and late receipts. */

import assert from "node:assert/strict";
import { type World, world } from "../../../../support/world.ts";
import { copyMessage } from "../../../../support/daemon/message_log.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";

const audit = (w: World) => get(w, "/deliveries");
const receipt = (w: World, delivery_id: string, status: string) =>
  post(w, "/deliveries/receipts", { delivery_ids: [delivery_id], status });
const stateOf = async (w: World, id: string) => (await get(w, `/messages/${id}`)).state;

interface TraceStage {
  stage: string;
  status: string;
  detail: string | null;
}
const trace = async (w: World, id: string) => {
  const stages: TraceStage[] = (await get(w, `/traces/${id}`)).stages;
  return stages.map(({ stage, status, detail }) => [stage, status, detail]);
};

Deno.test("every message is in exactly one state, and the count says so", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await connectPeer(w, "web");
  await addPeer(w, "bob");
  await notify(w, "ada", "web");
  await ask(w, "ada", "bob");
  await ask(w, "ada", "sam");
  const closed = await ask(w, "ada", "bob");
  await post(w, "/decline", { correlation_id: closed, reason: "No" });
  await w.tick(31);
  const { counts, total, unproved, unaccounted } = await audit(w);
  assert.deepEqual(counts, { accepted: 1, dropped: 1, queued: 1, sent: 1 });
  assert.deepEqual([total, unproved, unaccounted], [4, 1, []]);
});

Deno.test("counts, total, unproved and unaccounted are those of the peer and the state that were asked for", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await connectPeer(w, "web");
  const bob = await addPeer(w, "bob");
  await addPeer(w, "eve");
  await notify(w, "ada", "web");
  await notify(w, "ada", "bob");
  await notify(w, "ada", "bob");
  await notify(w, "ada", "eve");
  await ask(w, "ada", "sam");
  await w.tick(31);
  const of = async (query: string) => {
    const { counts, total, unproved, unaccounted, deliveries } = await get(
      w,
      `/deliveries?${query}`,
    );
    assert.equal(deliveries.length, Math.min(total, query.includes("limit=1") ? 1 : 100), query);
    return [counts, total, unproved, unaccounted.length];
  };
  assert.deepEqual(await of("peer_id=bob"), [{ queued: 2 }, 2, 0, 0]);
  assert.deepEqual(await of(`peer_id=${bob.peer_id}&limit=1`), [{ queued: 2 }, 2, 0, 0]);
  assert.deepEqual(await of("peer_id=web"), [{ sent: 1 }, 1, 1, 0]);
  assert.deepEqual(await of("peer_id=web&state=queued"), [{}, 0, 0, 0]);
  assert.deepEqual(await of("state=queued"), [{ queued: 3 }, 3, 0, 0]);
  assert.deepEqual(await of("state=sent&limit=1"), [{ sent: 1 }, 1, 1, 0]);
  assert.deepEqual((await of("limit=1")).slice(1, 3), [5, 1]);
  w.daemon.ctx.db.transact((tx) => {
    tx.run("update messages set state = 'dropped' where to_peer_id = :id", { id: bob.peer_id });
  });
  assert.deepEqual(await of("peer_id=bob"), [{ dropped: 2 }, 2, 0, 2]);
  assert.deepEqual(await of("peer_id=bob&state=queued"), [{}, 0, 0, 0]);
  assert.deepEqual(await of("peer_id=eve"), [{ queued: 1 }, 1, 0, 0]);
  w.daemon.ctx.db.transact((tx) => {
    tx.run("update messages set to_peer_id = 'peer-of-nobody' where state = 'queued'");
  });
  assert.deepEqual(await of("state=queued"), [{ queued: 1 }, 1, 0, 1]);
  assert.deepEqual(await of("peer_id=bob"), [{ dropped: 2 }, 2, 0, 2]);
  assert.deepEqual(await of("state=sent"), [{ sent: 1 }, 1, 1, 0]);
});

Deno.test("every contradiction of a row is listed with its delivery", async () => {
  const contradictions: [sql: string, problem: string][] = [
    ["ask_state = null", "ask_without_state"],
    ["ask_state = 'closed'", "closed_without_instant"],
    ["ask_state = 'closed', closed_at = 1", "closed_but_queued"],
    ["state = 'dropped', reason = 'x', settled_at = 1", "open_but_ended"],
    ["state = 'attempting', attempted_at = 1", "attempting_too_long"],
    ["state = 'sent'", "step_without_instant"],
    ["state = 'seen'", "step_without_instant"],
    ["to_peer_id = 'peer-of-nobody'", "waits_for_nobody"],
  ];
  for (const [sql, problem] of contradictions) {
    await using w = world();
    await addPeer(w, "bob");
    const id = await ask(w, "ada", "bob");
    const { db } = w.daemon.ctx;
    db.transactNow((tx) => tx.run(`update messages set ${sql}`));
    const { unaccounted, total } = await audit(w);
    const [{ delivery_id, ...found } = { delivery_id: "" }, ...more] = unaccounted;
    assert.deepEqual([delivery_id, found.problem], [id.replace("ask", "qd"), problem], sql);
    assert.deepEqual([more.length, total], [0, 1]);
  }
});

/** Ways in which a peer stops taking messages. */
const LEAVING = {
  "is closed": (w: World, id: string) => w.fetch(`/peers/${id}`, { method: "DELETE" }),
  "goes offline for good": (w: World, id: string) =>
    post(w, `/peers/${id}/offline`, { terminal: true }),
  "becomes a mere sender": (w: World, id: string) =>
    post(w, `/peers/${id}/provenance`, { addressable: false }),
};

for (const [how, leave] of Object.entries(LEAVING)) {
  Deno.test(`a peer that asked itself and ${how} leaves nothing queued`, async () => {
    await using w = world();
    const { peer_id } = await addPeer(w, "bob");
    const request = { from_peer: "bob", to_peer: "bob", text: "Later", kind: "ask", fire_at: "0s" };
    await post(w, "/schedules", request);
    await w.tick();
    await leave(w, peer_id);
    const { counts, unaccounted } = await audit(w);
    assert.deepEqual([counts.queued, unaccounted], [undefined, []]);
  });
}

Deno.test("an ask to the human without an inbox item is listed", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const id = await ask(w, "ada", "sam");
  assert.deepEqual((await audit(w)).unaccounted, []);
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("delete from inbox_items"));
  assert.deepEqual((await audit(w)).unaccounted, [
    { delivery_id: id.replace("ask", "qd"), state: "accepted", problem: "not_in_the_inbox" },
  ]);
});

Deno.test("at most a hundred contradictions are listed", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (let count = 0; count < 120; count++) await notify(w, "ada", "bob");
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("update messages set state = 'sent'"));
  assert.equal((await audit(w)).unaccounted.length, 100);
});

Deno.test("a count of many messages lets other requests run, and counts each once", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "100000" } });
  await connectPeer(w, "bob");
  await notify(w, "ada", "bob");
  await w.tick();
  copyMessage(w, 7000);
  const { db } = w.daemon.ctx;
  const failed = "state = 'failed', reason = 'x', settled_at = 1";
  db.transactNow((tx) => tx.run(`update messages set ${failed} where seq = 2`));
  await w.clock.advance(31_000);
  let finished = false;
  const count = get(w, "/deliveries?limit=1").finally(() => finished = true);
  assert.equal((await get(w, "/health")).status, "ok");
  assert.equal(finished, false, "other requests are answered first");
  while (!finished) await w.clock.advance(0);
  const { counts, total, unproved, deliveries } = await count;
  assert.deepEqual([counts, total], [{ failed: 1, sent: 6999 }, 7000]);
  assert.deepEqual([deliveries.length, unproved], [1, 6999]);
});

Deno.test("a late receipt settles a message that was queued again, so it is not sent again", async () => {
  for (const status of ["accepted", "seen", "failed", "rejected"]) {
    await using w = world();
    const { peer_id } = await addPeer(w, "bob");
    const { delivery_id } = await notify(w, "ada", "bob");
    await get(w, "/deliveries/pending?peer_id=bob");
    await w.tick(61);
    assert.equal(await stateOf(w, delivery_id), "queued");
    assert.equal((await receipt(w, delivery_id, status)).ok, true);
    const settled = status === "rejected" ? "failed" : status;
    assert.equal(await stateOf(w, delivery_id), settled);
    const bob = await connectPeerWithReceipts(w, "bob", { peer_id });
    await w.tick(61);
    assert.deepEqual([bob.of("notify"), await stateOf(w, delivery_id)], [[], settled], status);
  }
});

Deno.test("a failed receipt of a message that was never sent is ignored", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await receipt(w, delivery_id, "failed");
  assert.equal(await stateOf(w, delivery_id), "queued");
});

Deno.test("a late rejection closes an ask that was queued again, and notifies its asker", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await get(w, "/deliveries/pending?peer_id=bob");
  await w.tick(61);
  await receipt(w, id.replace("ask", "qd"), "rejected");
  await w.clock.settle();
  assert.equal(ada.of("ack")[0]?.close_reason, "send_failed");
  assert.deepEqual((await audit(w)).unaccounted, []);
});

Deno.test("a receipt over the next connection counts, and the message is not sent again", async () => {
  await using w = world();
  const before = await connectPeerWithReceipts(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await w.clock.settle();
  assert.equal(before.of("notify")[0]?.delivery_id, delivery_id);
  const { peer_id } = w.daemon.directory.find("bob");
  await before.drop();
  assert.equal(await stateOf(w, delivery_id), "queued");
  const after = await connectPeerWithReceipts(w, "bob", { peer_id });
  assert.equal(
    after.of("notify")[0]?.delivery_id,
    delivery_id,
    "it is sent again under the same id",
  );
  await after.send({ type: "delivery_ack", delivery_id, status: "seen" });
  assert.equal(await stateOf(w, delivery_id), "seen");
  await after.drop();
  const last = await connectPeerWithReceipts(w, "bob", { peer_id });
  await w.tick(61);
  assert.deepEqual(last.of("notify"), []);
});

Deno.test("a receipt over HTTP while the socket is closed prevents a repeated frame", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await w.clock.settle();
  const { peer_id } = w.daemon.directory.find("bob");
  await bob.drop();
  await receipt(w, delivery_id, "accepted");
  const again = await connectPeerWithReceipts(w, "bob", { peer_id });
  assert.deepEqual(again.of("notify"), []);
  assert.equal(await stateOf(w, delivery_id), "accepted");
});

Deno.test("a receipt of another peer's message over a socket is ignored", async () => {
  await using w = world();
  const eve = await connectPeerWithReceipts(w, "eve");
  await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await eve.send({ type: "delivery_ack", delivery_id, status: "seen" });
  assert.equal(await stateOf(w, delivery_id), "queued");
});

Deno.test("a trace marks every failure as failed: expired, dropped, failed, unproved, closed without an answer", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const expired = await notify(w, "ada", "bob");
  await w.tick(86_401);
  assert.deepEqual((await trace(w, expired.delivery_id)).at(-1), ["expired", "fail", "ttl"]);
  const failed = await ask(w, "ada", "bob");
  await get(w, "/deliveries/pending?peer_id=bob");
  await receipt(w, failed.replace("ask", "qd"), "rejected");
  assert.deepEqual((await trace(w, failed)).slice(-2), [
    ["failed", "fail", "rejected"],
    ["closed", "fail", "send_failed"],
  ]);
  const retired = await ask(w, "ada", "bob");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  assert.deepEqual((await trace(w, retired)).slice(-2), [
    ["dropped", "fail", "peer_retired"],
    ["closed", "fail", "peer_retired"],
  ]);
  await connectPeer(w, "web");
  const unproved = await notify(w, "ada", "web");
  await w.tick(31);
  assert.deepEqual((await trace(w, unproved.delivery_id)).at(-1), ["unproved", "fail", null]);
  const declined = await ask(w, "ada", "web");
  await post(w, "/decline", { correlation_id: declined, reason: "No" });
  assert.deepEqual((await trace(w, declined)).at(-1), ["closed", "ok", "declined"]);
});

Deno.test("a message that is sent again to a socket ends as sent", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await w.clock.settle();
  const { peer_id } = w.daemon.directory.find("bob");
  await bob.drop();
  await w.clock.advance(5000);
  await connectPeerWithReceipts(w, "bob", { peer_id });
  await w.clock.settle();
  assert.equal(await stateOf(w, delivery_id), "sent");
  const { stages } = await get(w, `/traces/${delivery_id}`);
  const [tried, sent] = ["attempting", "sent"].map((name) =>
    stages.find(({ stage }: { stage: string }) => stage === name)?.ts
  );
  assert.equal(sent, tried, "the trace has the last attempt");
  await w.tick(300);
  assert.deepEqual((await audit(w)).unaccounted, []);
});
