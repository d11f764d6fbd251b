/** Asks, answers, notes and reports between two machines on a bus that works. */

import assert from "node:assert/strict";
import {
  ackAsk,
  cancelAsk,
  declineAsk,
  getAsk,
  openAsk,
  pendingAsks,
  waitAsk,
} from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import {
  answer,
  ask,
  askOutcome,
  contradictions,
  deliveryOf,
  stagesOf,
} from "../../../support/machines/asking.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";

Deno.test("An ask to name@machine reaches the peer, and its answer comes back", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  assert.equal(two.api.of("ask")[0]?.from_peer, "web@laptop");
  await answer(two, "8377");
  await two.pass();
  assert.deepEqual(await askOutcome(two, id), {
    state: "closed",
    close_reason: "ack_with_msg",
    reply: "8377",
    responder: "api@buildbox",
  });
  assert.equal(two.web.of("ack")[0]?.text, "8377");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("The answer of a peer that no transport had reached comes back, too", async () => {
  await using two = await laptopAndBuildbox();
  await two.api.drop();
  const id = await ask(two);
  await two.pass();
  const { asks } = await two.buildbox.call(pendingAsks, { query: { peer_id: "api" } });
  const correlation_id = asks[0]?.correlation_id ?? "";
  await two.buildbox.call(ackAsk, { body: { correlation_id, message: "8377" } });
  await two.pass();
  const { close_reason, reply } = await askOutcome(two, id);
  assert.deepEqual([close_reason, reply], ["ack_with_msg", "8377"]);
  assert.equal((await deliveryOf(two, id)).state, "dropped");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A bare name finds a peer of another machine", async () => {
  await using two = await laptopAndBuildbox();
  const body = { from_peer: "web", to_peer: "api", text: "Which port?" };
  const { to_peer_name } = await two.laptop.call(openAsk, { body });
  assert.equal(to_peer_name, "api@buildbox");
});

Deno.test("A wait returns when the answer comes from the other machine", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  const waiting = two.laptop.call(waitAsk, { params: { id }, body: { peer_id: "web" } });
  await two.pass();
  await answer(two, "8377");
  await two.pass();
  const resolved = await waiting;
  assert.equal(resolved.status === "resolved" && resolved.reply, "8377");
});

Deno.test("The reason of a peer that declines goes to the asker", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  const correlation_id = two.api.of("ask")[0]?.correlation_id ?? "";
  await two.buildbox.call(declineAsk, { body: { correlation_id, reason: "Not mine" } });
  await two.pass();
  const { close_reason, reply } = await askOutcome(two, id);
  assert.deepEqual([close_reason, reply], ["declined", "Not mine"]);
});

Deno.test("An option of a structured question comes back as an answer", async () => {
  await using two = await laptopAndBuildbox();
  const options = [{ id: "a", title: "First" }, { id: "b", title: "Second" }];
  const question = { kind: "choice" as const, prompt: "Which?", options };
  const { correlation_id } = await two.laptop.call(openAsk, {
    body: { from_peer: "web", to_peer: "api@buildbox", text: "Which?", question },
  });
  await two.pass();
  await answer(two, "b");
  await two.pass();
  const closed = await two.laptop.call(getAsk, { params: { id: correlation_id ?? "" } });
  assert.deepEqual([closed.close_reason, closed.answer?.option_id], ["answered", "b"]);
});

Deno.test("The recipient is notified of a cancelled ask, and can no longer answer it", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  await two.laptop.call(cancelAsk, {
    params: { id },
    body: { peer_id: "web", reason: "Found it" },
  });
  await two.pass();
  const [told] = two.api.of("ack");
  assert.deepEqual([told?.close_reason, told?.text], ["cancelled", "Found it"]);
  await assert.rejects(answer(two, "8377"), /^ApiError: already_closed/);
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A peer that answers a cancelled ask is notified of the cancellation", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  two.network.bus.setReachable(two.buildbox.daemon_id, false);
  await two.laptop.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  await answer(two, "8377");
  two.network.bus.setReachable(two.buildbox.daemon_id, true);
  await two.pass(3);
  assert.equal((await askOutcome(two, id)).close_reason, "cancelled");
  const [notice] = two.api.of("notify");
  assert.match(notice?.text ?? "", /^The answer to ask-\w+ was not delivered: web@laptop closed/);
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A question in return closes the ask on both machines", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  const reply_to = two.api.of("ask")[0]?.correlation_id ?? "";
  const body = { from_peer: "api", to_peer: "web@laptop", text: "Of which server?", reply_to };
  await two.buildbox.call(openAsk, { body });
  await two.pass();
  assert.equal((await askOutcome(two, id)).close_reason, "reply_to");
  const [followUp] = two.web.of("ask");
  assert.deepEqual([followUp?.from_peer, followUp?.reply_to], ["api@buildbox", id]);
});

Deno.test("A note and a broadcast reach the peers of another machine", async () => {
  await using two = await laptopAndBuildbox();
  await two.laptop.call(notifyPeer, {
    body: { from_peer: "web", to_peer: "api@buildbox", text: "Deployed" },
  });
  const { sent_to } = await two.laptop.call(broadcast, {
    body: { from_peer: "web", text: "Lunch" },
  });
  await two.pass();
  assert.deepEqual(sent_to.map(({ name }) => name), ["api@buildbox"]);
  assert.equal(two.api.of("notify")[0]?.text, "Deployed");
  assert.equal(two.api.of("broadcast")[0]?.text, "Lunch");
});

Deno.test("The trace has the stages on both machines", async () => {
  await using two = await laptopAndBuildbox();
  const id = await ask(two);
  await two.pass();
  await two.api.send({
    type: "delivery_ack",
    delivery_id: two.api.of("ask")[0]?.delivery_id,
    status: "seen",
  });
  await two.pass();
  assert.deepEqual(await deliveryOf(two, id), { state: "seen", reason: null });
  const stages = await stagesOf(two, id);
  for (const stage of ["attempting", "sent", "accepted", "seen", "sent_there", "seen_there"]) {
    assert.ok(stages.includes(stage), `${stage} is missing: ${stages}`);
  }
  const there = two.api.of("ask")[0]?.correlation_id ?? "";
  const trace = await two.buildbox.call(getTrace, { params: { trace_id: there } });
  const before = trace.stages.find(({ stage }) => stage === "accepted_there");
  assert.match(before?.detail ?? "", /^on laptop, as qd-/);
});
