/** Other machines get only the peers and messages of shared circles. */

import assert from "node:assert/strict";
import * as z from "zod";
import { ackAsk, getAsk, openAsk } from "protocol/asks/contract.ts";
import { listDeliveries } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { ask, askOutcome, deliveryOf } from "../../../support/machines/asking.ts";
import { attackedLaptop } from "../../../support/machines/hostile_machine.ts";
import { laptopAndBuildbox, pass } from "../../../support/machines/memory_network.ts";

const TAG = z.object({ tag: z.string() });
const HOUR_MS = 3_600_000;
const ONLY_WORK = { settings: { "mesh.bus.allow": '["work"]' } };

Deno.test("A peer of a circle that is not shared asks elsewhere and gets its answer", async () => {
  await using two = await laptopAndBuildbox({ laptop: ONLY_WORK });
  const { laptop, buildbox, network, api } = two;
  await using third = network.join("third");
  await pass([laptop, buildbox, third], 3); // Each tells the others its position.
  const recipients = new Set<string>();
  network.bus.onPublish = (from, to) => {
    if (from === laptop.daemon_id) recipients.add(to);
    return true;
  };
  await laptop.socket().connect({ display_name: "diary", circle: "private" });
  await pass([laptop, buildbox, third], 3);
  const body = { from_peer: "diary", to_peer: "api@buildbox", text: "Which port?" };
  const { correlation_id = "" } = await laptop.call(openAsk, { body });
  await pass([laptop, buildbox, third]);
  const { from_peer, correlation_id: id = "" } = api.of("ask").at(-1) ?? {};
  assert.equal(from_peer, "diary@laptop");
  await buildbox.call(ackAsk, { body: { correlation_id: id, message: "8377", from_peer: "api" } });
  await pass([laptop, buildbox, third], 2);
  assert.equal((await askOutcome(two, correlation_id ?? "")).reply, "8377");
  assert.deepEqual([...recipients], [buildbox.daemon_id]);
  for (const machine of [buildbox, third]) {
    const { peers } = await machine.call(listPeers, { query: {} });
    assert.ok(!peers.some(({ name }) => name === "diary"), machine.name);
  }
});

Deno.test("A machine reaches no peer of a circle that is not shared, even by its id", async () => {
  await using two = await attackedLaptop(ONLY_WORK);
  const { laptop, web_id, message, send } = two;
  const diary = laptop.socket();
  await diary.connect({ display_name: "diary", circle: "private" });
  const { peers } = await laptop.call(listPeers, { query: {} });
  const to_peer_id = peers.find(({ name }) => name === "diary")?.peer_id;
  const kinds = ["notify", "ask", "broadcast"] as const;
  for (const kind of kinds) {
    const correlation_id = kind === "ask" ? "ask-000000000001" : null;
    for (const circle of ["private", "work", "*"]) {
      await send([{
        kind: "message",
        body: message({ kind, to_peer_id, circle, correlation_id }),
      }]);
    }
  }
  const { deliveries } = await laptop.call(listDeliveries, { query: {} });
  assert.ok(deliveries.every((delivery) => delivery.to_peer_id !== to_peer_id));
  assert.deepEqual(kinds.flatMap((type) => diary.of(type)), []);
  await send([{ kind: "message", body: message({ to_peer_id: web_id }) }]);
  assert.equal(two.web.of("notify").length, 1);
});

Deno.test("An ask waits for a machine as long as it is open, and is closed there when it arrives later", async () => {
  await using two = await laptopAndBuildbox();
  two.network.bus.setReachable(two.buildbox.daemon_id, false);
  const id = await ask(two);
  await two.pass();
  await two.network.clock.advance(24 * HOUR_MS - 60_000);
  await two.pass();
  assert.equal((await askOutcome(two, id)).state, "open");
  await two.network.clock.advance(60_000);
  await two.pass(2);
  const evicted = { state: "closed", close_reason: "evicted" };
  assert.partialDeepStrictEqual(await askOutcome(two, id), evicted);
  two.network.bus.setReachable(two.buildbox.daemon_id, true);
  await two.pass(5);
  const { correlation_id = "" } = two.api.of("ask").at(-1) ?? {};
  const evictedAsk = await two.buildbox.call(getAsk, { params: { id: correlation_id } });
  assert.partialDeepStrictEqual(evictedAsk, evicted);
  const late = { correlation_id, message: "8377", from_peer: "api" };
  await assert.rejects(two.buildbox.call(ackAsk, { body: late }), /already_closed/);
});

Deno.test("A message that the other machine does not understand ends with that reason", async () => {
  await using two = await attackedLaptop();
  const { laptop, network, buildbox, send } = two;
  network.bus.setReachable(buildbox.daemon_id, false);
  const id = await ask(two);
  await two.pass();
  const [{ tag } = {}] = laptop.daemon.ctx.db.all(TAG, "select tag from link_entries");
  await send([{ kind: "refused", body: { tag, reason: "unknown_entry" } }]);
  assert.deepEqual(await deliveryOf(two, id), { state: "failed", reason: "unknown_entry" });
  assert.equal((await laptop.call(getAsk, { params: { id } })).close_reason, "send_failed");
});
