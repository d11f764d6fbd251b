/** Messages between two machines while the bus, a clock or a machine is not as it should be. */

import assert from "node:assert/strict";
import { cancelAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace, listDeliveries } from "protocol/messages/contract.ts";
import { BusError } from "../../../../daemon/machines/bus.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import {
  answer,
  ask,
  askOutcome,
  contradictions,
  deliveryOf,
  type Two,
} from "../../../support/machines/asking.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";

const HOUR_S = 3600;

async function note({ laptop }: Two, text: string): Promise<string> {
  const body = { from_peer: "web", to_peer: "api@buildbox", text };
  return (await laptop.call(notifyPeer, { body })).delivery_id;
}

Deno.test("Without the bus a message waits with its reason, and local work continues", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  const id = await ask(two);
  await two.pass();
  assert.deepEqual(await deliveryOf(two, id), { state: "queued", reason: "bus_unreachable" });
  const other = two.laptop.socket();
  await other.connect({ display_name: "docs", circle: "work" });
  const local = { from_peer: "web", to_peer: "docs", text: "Here?" };
  await two.laptop.call(notifyPeer, { body: local });
  await two.pass();
  assert.equal(other.of("notify").length, 1);
  two.network.bus.setReachable(two.laptop.daemon_id, true);
  await two.pass(2);
  assert.equal(two.api.of("ask").length, 1);
  assert.deepEqual(await deliveryOf(two, id), { state: "accepted", reason: null });
});

Deno.test("A message that waits when the bus is lost gets that reason, too", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.onPublish = () => {
    throw new Error("The stream is full");
  };
  const id = await note(two, "Deployed");
  await two.pass();
  assert.equal((await deliveryOf(two, id)).state, "queued");
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  await two.pass();
  assert.deepEqual(await deliveryOf(two, id), { state: "queued", reason: "bus_unreachable" });
});

Deno.test("A message waits with its reason while the bus has no room, and then arrives once", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.onPublish = () => {
    throw new BusError("full", "maximum bytes exceeded", "no");
  };
  const id = await note(two, "first");
  await two.pass();
  assert.deepEqual(await deliveryOf(two, id), { state: "queued", reason: "bus_full" });
  const next = await note(two, "second");
  assert.deepEqual(await deliveryOf(two, next), { state: "queued", reason: "bus_full" });
  two.network.bus.onPublish = () => true;
  await two.pass(5);
  assert.deepEqual(two.api.of("notify").map(({ text }) => text), ["first", "second"]);
  assert.deepEqual(await deliveryOf(two, next), { state: "accepted", reason: null });
  const last = await note(two, "third");
  assert.equal((await deliveryOf(two, last)).reason, null);
});

Deno.test("A machine that was off for a week gets each message once", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.setReachable(two.buildbox.daemon_id, false);
  two.network.bus.lapse(two.buildbox.daemon_id);
  const ids = [await note(two, "first"), await note(two, "second")];
  await two.pass(2);
  assert.equal((await deliveryOf(two, ids[0] ?? "")).state, "sent");
  await two.network.clock.advance(7 * 24 * HOUR_S * 1000);
  await two.pass();
  two.network.bus.setReachable(two.buildbox.daemon_id, true);
  await two.pass(3);
  assert.deepEqual(two.api.of("notify").map(({ text }) => text), ["first", "second"]);
  assert.equal((await deliveryOf(two, ids[0] ?? "")).state, "accepted");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("After an hour's partition both sides have everything", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  two.network.bus.setReachable(two.buildbox.daemon_id, false);
  await answer(two, "8377");
  const noted = await note(two, "Deployed");
  await two.pass(61);
  await two.network.clock.advance(HOUR_S * 1000);
  const { peers } = await two.laptop.call(listPeers, { query: {} });
  const api = peers.find(({ display_name }) => display_name === "api@buildbox");
  assert.equal(api?.status, "offline");
  two.network.bus.setReachable(two.buildbox.daemon_id, true);
  await two.pass(3);
  assert.equal((await askOutcome(two, id)).reply, "8377");
  assert.equal((await deliveryOf(two, noted)).state, "accepted");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("An ask that is cancelled before it left never arrives", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  const id = await ask(two);
  await two.pass();
  await two.laptop.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  assert.deepEqual(await deliveryOf(two, id), { state: "dropped", reason: "cancelled" });
  two.network.bus.setReachable(two.laptop.daemon_id, true);
  await two.pass(3);
  assert.deepEqual(two.api.of("ask"), []);
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A message to a peer that is gone from its machine ends with that reason", async () => {
  await using two = await laptopAndBuildbox({
    buildbox: { settings: { "mesh.bus.allow": '["work"]' } },
  });
  const { peers } = await two.buildbox.call(listPeers, { query: {} });
  const peer_id = peers.find(({ name }) => name === "api")?.peer_id ?? "";
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  const id = await ask(two);
  await two.buildbox.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  two.network.bus.setReachable(two.laptop.daemon_id, true);
  await two.pass(3);
  assert.deepEqual(await deliveryOf(two, id), { state: "failed", reason: "unknown_peer" });
  assert.equal((await askOutcome(two, id)).close_reason, "send_failed");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A batch that is repeated or comes from elsewhere changes nothing", async () => {
  await using two = await laptopAndBuildbox();
  const batches: Uint8Array[] = [];
  two.network.bus.onPublish = (from, _to, bytes) => {
    if (from === two.laptop.daemon_id) batches.push(bytes.slice());
    return true;
  };
  await note(two, "once");
  await two.pass();
  const [laptop, buildbox] = [two.laptop.daemon_id, two.buildbox.daemon_id];
  const third = two.network.join("third");
  await two.pass();
  for (const bytes of batches) {
    two.network.bus.inject(buildbox, laptop, bytes); // Replayed.
    two.network.bus.inject(buildbox, third.daemon_id, bytes); // In another's name.
    two.network.bus.inject(laptop, buildbox, bytes); // Back to its sender.
    two.network.bus.inject(buildbox, laptop, bytes.map((byte, at) => at === 60 ? byte ^ 1 : byte));
  }
  await two.pass(2);
  assert.equal(two.api.of("notify").length, 1);
  assert.deepEqual(two.web.of("notify"), []);
  assert.deepEqual(await contradictions(two), []);
  await third[Symbol.asyncDispose]();
});

Deno.test("Batches that overtake each other are put in order again", async () => {
  await using two = await laptopAndBuildbox();
  const held: Uint8Array[] = [];
  let isHolding = true;
  two.network.bus.onPublish = (from, _to, bytes) => {
    if (!isHolding || from !== two.laptop.daemon_id) return true;
    held.push(bytes.slice());
    return false;
  };
  for (const text of ["1", "2", "3"]) {
    await note(two, text);
    await two.pass();
  }
  isHolding = false;
  for (const bytes of held.toReversed()) {
    two.network.bus.inject(two.buildbox.daemon_id, two.laptop.daemon_id, bytes);
  }
  await two.pass(40);
  assert.deepEqual(two.api.of("notify").map(({ text }) => text), ["1", "2", "3"]);
});

Deno.test("A clock that is five minutes ahead expires nothing, and is named in the trace", async () => {
  await using two = await laptopAndBuildbox({ buildbox: { ahead_ms: 300_000 } });
  await two.pass(3);
  const id = await ask(two);
  await two.pass();
  const { stages } = await two.laptop.call(getTrace, { params: { trace_id: id } });
  const there = stages.find(({ stage }) => stage === "sent_there");
  const sent = stages.find(({ stage }) => stage === "sent");
  assert.equal(two.api.of("ask").length, 1);
  await two.api.send({
    type: "delivery_ack",
    delivery_id: two.api.of("ask")[0]?.delivery_id,
    status: "seen",
  });
  await two.pass();
  const after = await two.laptop.call(getTrace, { params: { trace_id: id } });
  const seen = after.stages.find(({ stage }) => stage === "seen_there");
  assert.match(seen?.detail ?? "", /by its clock, which is 300 s ahead$/);
  assert.ok(there || sent);
});

Deno.test("A peer floods a peer of another machine only as far as its own machine lets it", async () => {
  await using two = await laptopAndBuildbox({
    laptop: { settings: { "daemon.limits.pair_per_minute": "3" } },
  });
  for (const text of ["1", "2", "3"]) await note(two, text);
  await assert.rejects(note(two, "4"), /^ApiError: rate_limited/);
});

Deno.test("Follow-ups are counted on both machines together", async () => {
  const settings = { "daemon.limits.hops": "3" };
  await using two = await laptopAndBuildbox({ laptop: { settings }, buildbox: { settings } });
  await ask(two);
  await two.pass();
  const turns = [
    { from: two.buildbox, from_peer: "api", to_peer: "web@laptop", inbox: two.api },
    { from: two.laptop, from_peer: "web", to_peer: "api@buildbox", inbox: two.web },
  ];
  const followUp = async (number: number) => {
    const turn = turns[number % 2];
    if (!turn) return;
    const reply_to = turn.inbox.of("ask").at(-1)?.correlation_id ?? "";
    const { from_peer, to_peer } = turn;
    await turn.from.call(openAsk, { body: { from_peer, to_peer, text: "And?", reply_to } });
    await two.pass();
  };
  for (const number of [0, 1, 2]) await followUp(number);
  await assert.rejects(followUp(3), /^ApiError: hop_limit/);
});

Deno.test("Messages for a forgotten machine end with that reason", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  const id = await ask(two);
  await two.pass();
  await two.laptop.fetch("/machines/buildbox", { method: "DELETE" });
  await two.pass();
  assert.deepEqual(await deliveryOf(two, id), { state: "dropped", reason: "machine_forgotten" });
  assert.equal((await askOutcome(two, id)).state, "closed");
  const { unaccounted } = await two.laptop.call(listDeliveries, { query: {} });
  assert.deepEqual(unaccounted, []);
});

Deno.test("A machine that is shut down takes leave once, although it is shut down twice", async () => {
  await using two = await laptopAndBuildbox();
  await two.laptop.daemon.shutDown();
  await two.laptop.daemon.shutDown();
  assert.doesNotMatch(JSON.stringify(two.laptop.logged), /not withdrawn/);
});
