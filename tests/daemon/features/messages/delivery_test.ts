/** Deliveries: drains, receipts, queue limit, expiry, traces, listing. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";

interface LeasedMessage {
  delivery_id: string;
  kind: string;
  text: string;
  state: string;
  redelivered: boolean;
  attempts: number;
}

async function drain(w: World, name = "bob", more = "") {
  const answer = await get(w, `/deliveries/pending?peer_id=${name}${more}`);
  const { status, drain_id } = answer;
  const deliveries: LeasedMessage[] = answer.deliveries;
  return { status, deliveries, drain_id };
}

const settle = (w: World, body: object) => post(w, "/deliveries/receipts", body);
const stages = async (w: World, id: string): Promise<string[]> =>
  (await get(w, `/traces/${id}`)).stages.map(({ stage }: { stage: string }) => stage);

Deno.test("a drain takes the queue, oldest first, and a receipt settles it [4.deliveries.pending]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await ask(w, "ada", "bob", "One");
  await notify(w, "ada", "bob", "Two");
  const { deliveries, drain_id } = await drain(w);
  assert.deepEqual(deliveries.map(({ text, state, redelivered }) => [text, state, redelivered]), [
    ["One", "sent", false],
    ["Two", "sent", false],
  ]);
  assert.deepEqual((await drain(w)).deliveries, []);
  assert.equal((await settle(w, { drain_id, status: "accepted" })).ok, true);
  await w.tick(61);
  assert.deepEqual(await drain(w), { status: 200, deliveries: [], drain_id: null });
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 2 });
});

Deno.test("a message to an offline peer says why it waits, until it is sent", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  await post(w, "/peers/bob/offline");
  const body = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  const { delivery_id, reason } = await post(w, "/notify", body);
  assert.equal(reason, "recipient_offline");
  assert.equal((await get(w, `/messages/${delivery_id}`)).reason, "recipient_offline");
  await w.socket().connect({ display_name: "bob", peer_id });
  await w.clock.settle();
  const { state, reason: after } = await get(w, `/messages/${delivery_id}`);
  assert.deepEqual([state, after], ["sent", null]);
});

Deno.test("a receipt of a drain that was not stored can be sent again", async () => {
  using faults = new SqliteFaults();
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob", "One");
  const { drain_id } = await drain(w);
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  assert.equal((await settle(w, { drain_id, status: "accepted" })).error, "storage_failed");
  assert.equal((await settle(w, { drain_id, status: "accepted" })).ok, true);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 1 });
});

Deno.test("a drained message that is not settled is queued again after 60 s, under the same id [c3.drain.lease]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const [first] = (await drain(w)).deliveries;
  await w.tick(59);
  assert.deepEqual((await drain(w)).deliveries, []);
  await w.tick(1);
  const [second] = (await drain(w)).deliveries;
  assert.equal(second?.delivery_id, first?.delivery_id);
  assert.deepEqual([second?.redelivered, second?.attempts], [true, 2]);
});

Deno.test("a late receipt of a drain counts, and a second one changes nothing", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  const { drain_id, deliveries } = await drain(w);
  await w.tick(61);
  const delivery_ids = deliveries.map(({ delivery_id }) => delivery_id);
  await settle(w, { drain_id, status: "seen" });
  await settle(w, { delivery_ids, status: "accepted" });
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { seen: 1 });
  const again = await settle(w, { drain_id, status: "seen" });
  assert.deepEqual([again.status, again.error], [404, "unknown_drain"]);
  const lost = await settle(w, { delivery_ids: ["qd-ffffffffffff"], status: "seen" });
  assert.equal(lost.error, "unknown_message");
  assert.equal((await settle(w, { status: "seen" })).status, 422);
});

Deno.test("a failed receipt of a drain fails a notification, and closes an ask as send_failed", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const { drain_id } = await drain(w);
  await settle(w, { drain_id, status: "rejected" });
  await w.clock.settle();
  assert.equal(ada.of("ack")[0]?.close_reason, "send_failed");
  const kept = await get(w, `/asks/${id}`);
  assert.deepEqual([kept.outcome, kept.state], ["failed", "closed"]);
});

Deno.test("a drain takes at most max_results, and leaves the rest in order", async () => {
  await using w = world();
  await addPeer(w, "bob", { pane_id: "%5" });
  for (const text of ["1", "2", "3"]) await notify(w, "ada", "bob", text);
  const first = await drain(w, "bob", "&max_results=2");
  assert.deepEqual(first.deliveries.map(({ text }) => text), ["1", "2"]);
  const rest = await get(w, "/deliveries/pending?pane_id=%255");
  assert.equal(rest.deliveries[0].text, "3");
  for (const bad of ["", "?peer_id=bob&pane_id=%255", "?peer_id=bob&max_results=none"]) {
    assert.equal((await get(w, `/deliveries/pending${bad}`)).status, 422);
  }
});

Deno.test("a full queue refuses a new ask or notification, and drops no older one [c2.delivery.queue-full] [c2.delivery.outside-limit]", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "2" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  await notify(w, "cli", "ada", "One");
  const id = await ask(w, "ada", "bob");
  await ask(w, "cli", "ada", "Two");
  for (const path of ["/ask", "/notify"]) {
    const full = await post(w, path, { from_peer: "cli", to_peer: "ada", text: "Three" });
    assert.deepEqual([full.status, full.error], [429, "queue_full"]);
  }
  await post(w, "/ack", { correlation_id: id, message: "A reply is outside of the limit" });
  const { deliveries } = await drain(w, "ada");
  assert.deepEqual(deliveries.map(({ kind }) => kind), ["notify", "ask", "ack"]);
  assert.equal(eventData(w, "notification").length, 1);
});

Deno.test("a notification expires after 24 h, an ask's delivery only with its ask [c2.delivery.queue-ttl]", async () => {
  await using w = world({ settings: { "daemon.ask_ttl_hours": "48" } });
  await addPeer(w, "bob");
  const { delivery_id } = await notify(w, "cli", "bob");
  const id = await ask(w, "cli", "bob");
  await w.tick(86_399);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 2 });
  await w.tick(1);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { expired: 1, queued: 1 });
  const [expired] = (await get(w, "/deliveries?state=expired")).deliveries;
  assert.deepEqual([expired.delivery_id, expired.reason], [delivery_id, "ttl"]);
  assert.equal((await stages(w, delivery_id)).at(-1), "expired");
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

Deno.test("a message without a proof stays sent, and after 30 s its trace says unproved [4.traces.notify]", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob");
  await w.tick(30);
  assert.deepEqual(await stages(w, delivery_id), [
    "created",
    "resolved",
    "queued",
    "attempting",
    "sent",
  ]);
  await w.tick(1);
  assert.equal((await stages(w, delivery_id)).at(-1), "unproved");
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { sent: 1 });
});

Deno.test("the trace of an ask lists all stages, numbered and in order [4.traces.ask] [c2.trace.stages]", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const id = await ask(w, "ada", "bob");
  await w.clock.advance(5);
  const [frame] = bob.of("ask");
  const delivery_id = frame?.delivery_id ?? "";
  await bob.send({ type: "delivery_ack", delivery_id, status: "accepted" });
  await w.clock.advance(5);
  await bob.send({ type: "delivery_ack", delivery_id, status: "seen" });
  await w.clock.advance(5);
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  const trace = await get(w, `/traces/${id}`);
  assert.deepEqual([trace.trace_id, trace.kind], [id, "ask"]);
  assert.deepEqual(await stages(w, id), [
    "created",
    "resolved",
    "queued",
    "attempting",
    "sent",
    "accepted",
    "seen",
    "acked",
    "closed",
  ]);
  trace.stages.forEach((stage: Record<string, unknown>, index: number) => {
    assert.deepEqual(Object.keys(stage), [
      "seq",
      "stage",
      "status",
      "peer_id",
      "from_peer_id",
      "ts",
      "detail",
    ]);
    assert.equal(stage["seq"], index + 1);
  });
  const unknown = await get(w, "/traces/ask-ffffffffffff");
  assert.deepEqual([unknown.status, unknown.error], [404, "unknown_trace"]);
});

Deno.test("deliveries are listed by peer and state, with the conservation count [c3.deliveries.count]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  const bob = await notify(w, "cli", "bob");
  await notify(w, "cli", "sam");
  const answer = await get(w, "/deliveries?peer_id=bob&state=queued");
  assert.deepEqual(answer.counts, { queued: 1 });
  assert.deepEqual((await get(w, "/deliveries")).counts, { accepted: 1, queued: 1 });
  assert.equal(answer.deliveries.length, 1);
  const fields = Object.keys(answer.deliveries[0]);
  assert.deepEqual(fields.sort(), [
    "accepted_at",
    "attachments",
    "attempted_at",
    "attempts",
    "chain",
    "correlation_id",
    "created_at",
    "delivery_id",
    "expires_at",
    "from_peer_id",
    "from_peer_name",
    "kind",
    "reason",
    "seen_at",
    "sent_at",
    "sent_by",
    "state",
    "text",
    "to_peer_id",
    "to_peer_name",
    "transport",
    "unverified",
    "urgent",
    "voice",
  ]);
  assert.equal(answer.deliveries[0].delivery_id, bob.delivery_id);
});

Deno.test("a connected peer gets a drained and unsettled message over its socket again", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  await drain(w);
  const { peer_id } = w.daemon.directory.find("bob");
  const bob = await connectPeerWithReceipts(w, "bob", { peer_id });
  assert.deepEqual(bob.of("notify"), []);
  await w.tick(60);
  assert.equal(bob.of("notify").length, 1);
});

Deno.test("the recipient's answer to an ask also accepts its delivery", async () => {
  await using w = world();
  const bob = await connectPeerWithReceipts(w, "bob");
  const id = await ask(w, "ada", "bob");
  await bob.send({ type: "ack", request_id: "1", correlation_id: id, message: "Yes" });
  assert.equal((await get(w, `/asks/${id}`)).delivered_at !== null, true);
  await bob.drop();
  const again = await connectPeerWithReceipts(w, "bob");
  assert.deepEqual(again.of("ask"), []);
});

Deno.test("a prompt with an ask's id publishes a step of its delivery", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await ask(w, "ada", "bob", "One");
  const [taken] = (await drain(w)).deliveries;
  const steps: [string, string][] = [];
  using _ears = w.daemon.ctx.events.subscribe({
    delivery: ({ delivery_id, state }) => void steps.push([delivery_id, state]),
  });
  const correlation_id = taken?.delivery_id.replace("qd-", "ask-");
  await post(w, "/peers/bob/turn", { prompt: `[mesh] id="${correlation_id}"` });
  assert.deepEqual(steps, [[taken?.delivery_id, "seen"]]);
});
