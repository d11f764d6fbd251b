/** Messages that a transport is sending while something else happens. */

import assert from "node:assert/strict";
import type {
  Adapter,
  AgentTransport,
  Readiness,
  Receipt,
} from "../../../../daemon/features/agents/adapter.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

/** An adapter with one transport; the test resolves its receipt. */
function slowAdapter(receipt: Promise<Receipt>): Adapter {
  return adapterOf({ deliver: () => receipt, check: () => Promise.resolve({ ready: true }) });
}

function adapterOf(parts: Pick<AgentTransport, "check" | "deliver">): Adapter {
  const transport: AgentTransport = { name: "native", ...parts };
  return {
    backend: "generic",
    transports: () => [transport],
    transport: () => "native",
    observe: () => Promise.resolve(undefined),
  };
}

/** A transport that asks the test whether it is ready, and records what it delivers. */
function checkedAdapter(check: AgentTransport["check"]) {
  const framed: string[] = [];
  const adapter = adapterOf({
    check,
    deliver: (_, outgoing) => {
      framed.push(outgoing.framed);
      return Promise.resolve({ state: "accepted" });
    },
  });
  return { adapter, framed };
}

Deno.test("a message that is withdrawn while its transport is checked holds back no other", async () => {
  const checked = Promise.withResolvers<{ ready: true }>();
  const { adapter, framed } = checkedAdapter(() => checked.promise);
  await using w = world({ adapters: [adapter] });
  await addPeer(w, "pat", { backend: "generic" });
  const id = await ask(w, "ada", "pat", "One");
  await notify(w, "ada", "pat", "Two");
  await w.clock.settle();
  await post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  checked.resolve({ ready: true });
  await w.clock.settle();
  assert.equal(framed.length, 1);
  assert.match(framed[0] ?? "", />Two</);
  assert.deepEqual(w.logged, []);
});

Deno.test("a message says why it waits, and is tried again at once when its peer is woken", async () => {
  const first = Promise.withResolvers<Readiness>(), second = Promise.withResolvers<Readiness>();
  const checks = [first.promise, second.promise];
  const { adapter, framed } = checkedAdapter(() =>
    checks.shift() ?? Promise.resolve({ ready: true })
  );
  await using w = world({ adapters: [adapter] });
  await addPeer(w, "pat", { backend: "generic" });
  const { delivery_id } = await notify(w, "ada", "pat", "One");
  await w.clock.settle();
  await notify(w, "ada", "pat", "Two"); // Wakes the dispatcher while the first check still runs.
  first.resolve({ ready: false, reason: "dialog_open" });
  await w.clock.settle();
  assert.equal((await get(w, `/messages/${delivery_id}`)).reason, "native: dialog_open");
  second.resolve({ ready: true });
  await w.clock.settle();
  assert.equal(framed.length, 2);
});

Deno.test("an ask closed while a transport sends it is not queued again on a refusal", async () => {
  const receipt = Promise.withResolvers<Receipt>();
  await using w = world({ adapters: [slowAdapter(receipt.promise)] });
  await addPeer(w, "pat", { backend: "generic" });
  const id = await ask(w, "ada", "pat");
  await w.clock.settle();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { attempting: 1 });
  await post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  receipt.resolve({ state: "refused", reason: "draft_present" });
  await w.clock.settle();
  const { dropped } = w.daemon.deliveryAudit.counts();
  assert.equal(dropped, 1);
  assert.equal(w.daemon.delivery.findMessage(id)?.reason, "cancelled");
});

Deno.test("a new connection waits for the transport that still tries an earlier message", async () => {
  const receipt = Promise.withResolvers<Receipt>();
  await using w = world({ adapters: [slowAdapter(receipt.promise)] });
  const { peer_id } = await addPeer(w, "pat", { backend: "generic" });
  await notify(w, "ada", "pat", "One");
  await w.clock.settle();
  await notify(w, "ada", "pat", "Two");
  const pat = await connectPeer(w, "pat", { peer_id, backend: "generic" });
  await notify(w, "ada", "pat", "Three");
  await w.tick();
  assert.deepEqual(pat.of("notify"), []);
  receipt.resolve({ state: "refused", reason: "draft_present" });
  await w.clock.settle();
  await w.tick();
  assert.deepEqual(pat.of("notify").map(({ text }) => text), ["One", "Two", "Three"]);
});

Deno.test("a refused message is queued for a peer that has unregistered meanwhile", async () => {
  const receipt = Promise.withResolvers<Receipt>();
  await using w = world({ adapters: [slowAdapter(receipt.promise)] });
  await addPeer(w, "pat", { backend: "generic" });
  await notify(w, "ada", "pat");
  await w.clock.settle();
  await post(w, "/peer/unregister", { peer_id: "pat" });
  receipt.resolve({ state: "refused", reason: "draft_present" });
  await w.clock.settle();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 1 });
  assert.deepEqual(w.logged, []);
});

Deno.test("a drain leaves a message that follows one a transport is trying", async () => {
  const receipt = Promise.withResolvers<Receipt>();
  await using w = world({ adapters: [slowAdapter(receipt.promise)] });
  await addPeer(w, "pat", { backend: "generic" });
  await notify(w, "ada", "pat", "One");
  await w.clock.settle();
  await notify(w, "ada", "pat", "Two");
  await notify(w, "bob", "pat", "Another's");
  const taken = async () =>
    (await get(w, "/deliveries/pending?peer_id=pat")).deliveries
      .map(({ text }: { text: string }) => text);
  assert.deepEqual(await taken(), ["Another's"]);
  await post(w, "/peers/pat/offline");
  receipt.resolve({ state: "refused", reason: "draft_present" });
  await w.clock.settle();
  assert.deepEqual(await taken(), ["One", "Two"]);
});

Deno.test("an ask that is closed before its frame meets a full buffer is not queued again", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  bob.buffered = 17 * 1024 * 1024;
  const { asks } = w.daemon;
  const human = { proven_human: false };
  const body = { from_peer: "ada", to_peer: "bob", text: "Hi", reply_delivery: "push" as const };
  const { ticket } = asks.open(body, human); // Both verbs share a turn and a commit.
  const id = ticket?.message.correlation_id ?? "";
  asks.cancel(id, { asker: "ada", reason: undefined }, human);
  await w.clock.settle();
  assert.deepEqual([
    w.daemon.delivery.findMessage(id)?.state,
    w.daemon.delivery.findMessage(id)?.reason,
  ], [
    "dropped",
    "cancelled",
  ]);
});

Deno.test("a receipt that the database cannot store is stored a second later, before the next message is sent", async () => {
  using faults = new SqliteFaults();
  const receipt = Promise.withResolvers<Receipt>();
  await using w = world({ adapters: [slowAdapter(receipt.promise)] });
  await addPeer(w, "pat", { backend: "generic" });
  await notify(w, "ada", "pat", "One");
  await notify(w, "ada", "pat", "Two");
  await w.clock.settle();
  faults.arm({ fault: "busy", at: "begin", after: 0, endsTransaction: false });
  receipt.resolve({ state: "accepted" });
  await w.clock.settle();
  assert.ok(faults.hit);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { attempting: 1, queued: 1 });
  await w.clock.advance(1000);
  await w.clock.settle();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 2 });
});
