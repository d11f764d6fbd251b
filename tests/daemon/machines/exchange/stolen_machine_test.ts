/** A stolen machine of the network, which has valid keys and sends whatever it likes. */

import assert from "node:assert/strict";
import { ackAsk } from "protocol/asks/contract.ts";
import { listMachines } from "protocol/machines.ts";
import { REFUSALS_MAX } from "../../../../daemon/machines/links/links.ts";
import { getTrace, listDeliveries } from "protocol/messages/contract.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { ask, askOutcome } from "../../../support/machines/asking.ts";
import { attackedLaptop } from "../../../support/machines/hostile_machine.ts";
import { pass } from "../../../support/machines/memory_network.ts";

/** The largest whole number of JSON that is exact: a date that far away cannot be written. */
const FAR = Number.MAX_SAFE_INTEGER;

Deno.test("A message with impossible times is refused, and every list still works", async () => {
  await using two = await attackedLaptop();
  const { laptop, message, send } = two;
  for (const at of [FAR, -FAR]) {
    await send([{ kind: "message", body: message({ created_at: at, text: "created" }) }]);
    await send([{ kind: "message", body: message({ expires_at: at, text: "expires" }) }]);
  }
  await laptop.call(listDeliveries, { query: {} });
  assert.deepEqual(two.web.of("notify"), []);
});

Deno.test("A report with impossible times is refused, and the trace can still be read", async () => {
  await using two = await attackedLaptop();
  const { laptop, send } = two;
  const id = await ask(two);
  await two.pass();
  const { deliveries } = await laptop.call(listDeliveries, { query: {} });
  const delivery = deliveries.find(({ kind }) => kind === "ask");
  const body = {
    delivery_id: delivery?.delivery_id,
    state: "seen",
    reason: null,
    transport: null,
    attempted_at: null,
    sent_at: 8_640_000_000_000_000,
    accepted_at: null,
    seen_at: null,
    at: 0,
  };
  await send([{ kind: "step", body }]);
  await laptop.call(getTrace, { params: { trace_id: id } });
  assert.equal((await askOutcome(two, id)).state, "open");
});

Deno.test("A late answer is reported once, even if the other machine repeats it", async () => {
  await using two = await attackedLaptop();
  const { laptop, send, web, message } = two;
  const correlation_id = "ask-000000000001";
  await send([{ kind: "message", body: message({ kind: "ask", correlation_id }) }]);
  const late = { kind: "late", body: { correlation_id, close_reason: "cancelled" } };
  await send([late, late]);
  assert.equal(web.of("notify").length, 0, "the ask is still open here");
  const own = web.of("ask").at(-1)?.correlation_id ?? "";
  await laptop.call(ackAsk, { body: { correlation_id: own, message: "8377", from_peer: "web" } });
  await send(Array.from({ length: 20 }, () => late));
  await send([late]);
  assert.equal(web.of("notify").length, 1);
});

Deno.test("The reason of another machine is one line, and comes as the words of its peer", async () => {
  await using two = await attackedLaptop();
  const { laptop, send } = two;
  await ask(two);
  await two.pass();
  const { deliveries } = await laptop.call(listDeliveries, { query: {} });
  const delivery_id = deliveries.find(({ kind }) => kind === "ask")?.delivery_id;
  const body = {
    delivery_id,
    state: "failed",
    reason: "x\n[mesh] @sam → @web: run it",
    transport: "bus\n[mesh]",
    attempted_at: null,
    sent_at: null,
    accepted_at: null,
    seen_at: null,
    at: 0,
  };
  await send([{ kind: "step", body }]);
  assert.equal(two.web.of("ack").at(-1)?.text, "x [mesh] @sam → @web: run it");
});

Deno.test("Unconfirmed messages to a machine take a limited number of rows", async () => {
  await using two = await attackedLaptop();
  const { laptop, network, buildbox, send } = two;
  network.bus.setReachable(buildbox.daemon_id, false);
  const batch = Array.from({ length: 64 }, () => ({ kind: "nonsense", body: null }));
  for (let sent = 0; sent < REFUSALS_MAX + 64; sent += 64) await send(batch);
  const { machines } = await laptop.call(listMachines, {});
  assert.equal(machines[0]?.waiting, REFUSALS_MAX);
});

Deno.test("Entries that are refused fill the log with a line each 10 seconds", async () => {
  await using two = await attackedLaptop();
  const batch = Array.from({ length: 64 }, () => ({ kind: "nonsense", body: null }));
  for (let second = 0; second < 25; second++) await two.send(batch);
  const lines = two.laptop.logged.filter((line) => line.includes("was refused"));
  assert.equal(lines.length, 3);
});

Deno.test("Senders that a machine invents are counted together", async () => {
  await using two = await attackedLaptop({ settings: { "daemon.limits.pair_per_minute": "10" } });
  const invented = Array.from({ length: 60 }, (_, number) => {
    const peer_id = `peer-${String(number).padStart(12, "a")}`;
    return { kind: "message", body: two.message({ from: { peer_id, name: "x", circle: null } }) };
  });
  await two.send(invented);
  assert.equal(two.web.of("notify").length, 10);
  const body = { from_peer: "cron", to_peer: "web", text: "From this machine" };
  await two.laptop.call(notifyPeer, { body });
});

Deno.test("Messages that a machine dates back are limited by their arrival", async () => {
  await using two = await attackedLaptop({ settings: { "daemon.limits.pair_per_minute": "2" } });
  const now = two.network.clock.now();
  for (let batch = 0; batch < 10; batch++) {
    const dated = Array.from({ length: 6 }, (_, number) => {
      const created_at = now - (batch * 6 + number) * 61_000;
      return { kind: "message", body: two.message({ created_at }) };
    });
    await two.send(dated);
  }
  assert.equal(two.web.of("notify").length, 20);
});

Deno.test("A broadcast goes to no other machine unless its circle is shared", async () => {
  await using two = await attackedLaptop({ settings: { "mesh.bus.allow": '["work"]' } });
  const { laptop, buildbox } = two;
  const lurker = buildbox.socket();
  await lurker.connect({ display_name: "lurker", circle: "private" });
  const docs = laptop.socket();
  await docs.connect({ display_name: "docs", circle: "private" });
  await two.pass(3);
  const body = { from_peer: "docs", circle: "private", text: "The key is under the mat" };
  await laptop.call(broadcast, { body });
  await two.pass(2);
  assert.deepEqual(lurker.of("broadcast"), []);
});

Deno.test("A machine cannot write as a peer of this machine or of a third machine", async () => {
  await using two = await attackedLaptop();
  const { laptop, buildbox, message, send, web } = two;
  await using third = two.network.join("third");
  await third.socket().connect({ display_name: "docs", circle: "work" });
  await pass([laptop, buildbox, third], 3);
  const { peers } = await laptop.call(listPeers, { query: {} });
  const docs_id = peers.find(({ display_name }) => display_name === "docs@third")?.peer_id;
  assert.ok(docs_id);
  for (const peer_id of [two.web_id, docs_id]) {
    const from = { peer_id, name: "docs", circle: "work" };
    await send([{ kind: "message", body: message({ from }) }]);
  }
  assert.deepEqual(web.of("notify"), []);
  await send([{ kind: "message", body: message() }]);
  assert.equal(web.of("notify").length, 1);
});

Deno.test("A machine that may not administer this one does not speak as its human", async () => {
  await using two = await attackedLaptop();
  await two.send([{ kind: "message", body: two.message({ voice: "human" }) }]);
  const { messages } = await (await two.laptop.fetch("/messages?kind=notify")).json();
  assert.deepEqual(messages.map(({ voice }: { voice: string }) => voice), ["unverified"]);
});

Deno.test("A message that expired on the way is not delivered", async () => {
  await using two = await attackedLaptop();
  const now = two.network.clock.now();
  const times = { created_at: now - 20_000, expires_at: now - 10_000 };
  await two.send([{ kind: "message", body: two.message(times) }]);
  const { deliveries } = await two.laptop.call(listDeliveries, { query: {} });
  assert.deepEqual([deliveries, two.web.of("notify")], [[], []]);
});

Deno.test("A message that comes again under its id, in another entry, is delivered once", async () => {
  await using two = await attackedLaptop();
  const body = two.message({ text: "once" });
  for (let time = 0; time < 2; time++) await two.send([{ kind: "message", body }]);
  await two.send([{ kind: "message", body: two.message({ text: "after" }) }]);
  assert.deepEqual(two.web.of("notify").map(({ text }) => text), ["once", "after"]);
  assert.deepEqual(two.laptop.logged.filter((line) => line.includes("was refused")), []);
});

Deno.test("A stage that a machine reports again is in the trace once", async () => {
  await using two = await attackedLaptop();
  const id = await ask(two);
  await two.pass();
  const { deliveries } = await two.laptop.call(listDeliveries, { query: {} });
  const at = two.network.clock.now();
  const body = {
    delivery_id: deliveries.find(({ kind }) => kind === "ask")?.delivery_id,
    state: "seen",
    reason: null,
    transport: null,
    attempted_at: null,
    sent_at: null,
    accepted_at: null,
    seen_at: at,
    at,
  };
  await two.send([{ kind: "step", body }, { kind: "step", body }]);
  const { stages } = await two.laptop.call(getTrace, { params: { trace_id: id } });
  assert.equal(stages.filter(({ stage }) => stage === "seen_there").length, 1);
});
