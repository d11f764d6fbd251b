/** Retention: which messages are deleted, and when. */

import assert from "node:assert/strict";
import { type World, world } from "../../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import { copyMessage } from "../../../../support/daemon/message_log.ts";
import { restartableWorld } from "../../../../support/daemon/restartable.ts";

const DAYS = 86_400;

const status = async (w: World, path: string) => (await w.fetch(path)).status;

/** Advances the clock by days, with enough ticks to delete everything old. */
async function days(w: World, count: number): Promise<void> {
  await w.tick(count * DAYS);
  for (let ticks = 0; ticks < 4; ticks++) await w.tick(61);
}

Deno.test("a finished message is deleted after 30 days, with its trace and index entry", async () => {
  await using w = world();
  await connectPeerWithReceipts(w, "bob");
  const id = await ask(w, "ada", "bob", "plum");
  await post(w, "/ack", { correlation_id: id, message: "yes" });
  const { delivery_id } = await notify(w, "ada", "bob", "plum");
  await post(w, "/deliveries/receipts", { delivery_ids: [delivery_id], status: "seen" });
  await days(w, 29);
  const kept = [`/asks/${id}`, `/traces/${id}`, `/messages/${id}`, `/traces/${delivery_id}`];
  for (const path of kept) assert.equal(await status(w, path), 200, path);
  assert.equal((await get(w, "/messages?q=plum")).messages.length, 2);
  await days(w, 1);
  for (const path of kept) assert.equal(await status(w, path), 404, path);
  assert.deepEqual((await get(w, "/messages?q=plum")).messages, []);
  assert.deepEqual((await get(w, "/messages")).messages, []);
  assert.equal((await get(w, `/traces/${id}`)).error, "unknown_trace");
  assert.deepEqual(w.logged, []);
});

Deno.test("open asks and queued messages stay, however old", async () => {
  const settings = {
    "human.name": "sam",
    "daemon.queue.ttl_seconds": "31536000",
    "daemon.ask_ttl_hours": "8760",
  };
  await using w = world({ settings });
  await addPeer(w, "bob");
  const waiting = await notify(w, "ada", "bob", "Waits");
  const open = await ask(w, "ada", "bob", "Open");
  const human = await ask(w, "ada", "sam", "Human");
  await notify(w, "ada", "sam", "Unread");
  await days(w, 60);
  for (const id of [waiting.delivery_id, open, human]) {
    assert.equal(await status(w, `/messages/${id}`), 200, id);
  }
  const { items } = await get(w, "/inbox");
  assert.deepEqual(items.map(({ text }: { text: string }) => text), ["Unread", "Human"]);
  assert.deepEqual((await get(w, "/deliveries")).unaccounted, []);
});

Deno.test("an ask is kept for 30 days after it is closed, a message after its last step", async () => {
  await using w = world({
    settings: { "daemon.ask_ttl_hours": "8760", "daemon.queue.ttl_seconds": "31536000" },
  });
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await days(w, 40);
  await post(w, "/ack", { correlation_id: id });
  await post(w, "/deliveries/receipts", { delivery_ids: [delivery_id], status: "seen" });
  await days(w, 29);
  assert.equal(await status(w, `/asks/${id}`), 200);
  assert.equal(await status(w, `/messages/${delivery_id}`), 200);
  await days(w, 2);
  assert.equal(await status(w, `/asks/${id}`), 404);
  assert.equal(await status(w, `/messages/${delivery_id}`), 404);
});

Deno.test("an ask that was read long ago is kept for 30 days after its answer", async () => {
  await using w = world({ settings: { "daemon.ask_ttl_hours": "8760" } });
  const bob = await connectPeerWithReceipts(w, "bob");
  const id = await ask(w, "ada", "bob");
  const delivery_id = bob.of("ask")[0]?.delivery_id ?? "";
  await bob.send({ type: "delivery_ack", delivery_id, status: "seen" });
  await days(w, 40);
  await post(w, "/ack", { correlation_id: id });
  await days(w, 29);
  assert.equal(await status(w, `/asks/${id}`), 200);
  await days(w, 2);
  assert.equal(await status(w, `/asks/${id}`), 404);
});

Deno.test("inbox items are deleted 30 days after they were read, unless their ask is open", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await ask(w, "ada", "sam", "Open");
  await notify(w, "ada", "sam", "Read");
  const answered = await ask(w, "ada", "sam", "Answered");
  await post(w, "/ack", { correlation_id: answered, message: "Yes" });
  const { items } = await get(w, "/inbox");
  for (const { item_id } of items) await post(w, `/inbox/${item_id}/read`, { surface: "cli" });
  await days(w, 29);
  assert.equal((await get(w, "/inbox")).items.length, 3);
  await days(w, 2);
  const left = (await get(w, "/inbox")).items;
  assert.deepEqual(left.map(({ text }: { text: string }) => text), ["Open"]);
});

Deno.test("a message that stays does not keep later ones from deletion", async () => {
  const settings = {
    "daemon.ask_ttl_hours": "8760",
    "daemon.queue.max_per_peer": "100000",
    "daemon.limits.pair_per_minute": "0",
  };
  await using w = world({ settings });
  await addPeer(w, "bob");
  for (let count = 0; count < 450; count++) await ask(w, "ada", "bob", "Open");
  const behind: string[] = [];
  for (let count = 0; count < 450; count++) {
    behind.push((await notify(w, "ada", "bob")).delivery_id);
  }
  await post(w, "/deliveries/receipts", { delivery_ids: behind, status: "seen" });
  await w.tick(31 * DAYS);
  for (let ticks = 0; ticks < 10; ticks++) await w.tick();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 450 });
});

Deno.test("a tick deletes a bounded number of messages, in steps between other work", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "100000" } });
  await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "a", "bob");
  await post(w, "/deliveries/receipts", { delivery_ids: [delivery_id], status: "seen" });
  copyMessage(w, 12_000);
  await w.clock.advance(31 * DAYS * 1000);
  const seen = () => w.daemon.deliveryAudit.counts()["seen"];
  w.daemon.tick();
  assert.equal(seen(), 11_900, "the first step");
  const left: (number | undefined)[] = [];
  for (let ticks = 0; ticks < 3; ticks++) {
    await w.clock.advance(0);
    left.push(seen());
    w.daemon.tick();
  }
  assert.deepEqual(left, [7000, 2000, undefined]);
});

Deno.test("deleting old messages ends with the daemon", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  await notify(w, "ada", "bob");
  await w.clock.settle();
  copyMessage(w, 1000);
  await w.clock.advance(31 * DAYS * 1000);
  w.daemon.tick();
  await w.daemon.shutDown();
  await w.clock.advance(0);
  assert.equal(w.daemon.deliveryAudit.counts()["sent"], 900);
});

Deno.test("above the maximum number, finished messages are deleted early, oldest first", async () => {
  await using w = world({ settings: { "daemon.history_messages": "3" } });
  await connectPeer(w, "bob");
  const open = await ask(w, "ada", "bob", "Open");
  for (const text of ["1", "2", "3", "4", "5"]) await notify(w, "ada", "bob", text);
  await w.clock.settle();
  await w.tick(61);
  const { messages } = await get(w, "/messages");
  assert.deepEqual(messages.map(({ text }: { text: string }) => text), ["5", "4", "3", "Open"]);
  assert.equal((await get(w, `/asks/${open}`)).state, "open");
});

Deno.test("the number of a deleted message is not reused, not even after a restart", async () => {
  using at = restartableWorld();
  let first = "";
  {
    await using w = at.start();
    await connectPeerWithReceipts(w, "bob");
    first = (await notify(w, "ada", "bob", "plum")).delivery_id;
    await post(w, "/deliveries/receipts", { delivery_ids: [first], status: "seen" });
    await days(w, 31);
    assert.equal(await status(w, `/messages/${first}`), 404);
  }
  await using w = at.start();
  const second = (await notify(w, "ada", "bob", "plum")).delivery_id;
  assert.notEqual(second, first);
  await w.tick();
  const { messages } = await get(w, "/messages?q=plum");
  assert.deepEqual(messages.map(({ delivery_id }: Record<string, string>) => delivery_id), [
    second,
  ]);
});
