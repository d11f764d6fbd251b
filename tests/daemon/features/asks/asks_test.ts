/** Asks: opening, acknowledging, declining, cancelling, eviction, listing. */

import assert from "node:assert/strict";
import { ackAsk, openAsk, waitAsk } from "protocol/asks/contract.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { queue } from "../../../../daemon/features/messages/ledger/ledger.ts";

async function registerTwoPeers(w: World) {
  const peer = (name: string) =>
    w.call(registerPeer, { body: { name, path: "/work", backend: "sdk" } });
  return { ada: await peer("ada"), bob: await peer("bob") };
}

Deno.test("an ask reaches a connected peer as a frame, and the ack reaches the asker [3.ask.reply-push] [4.ask.to-peer] [4.ack] [4.ws]", async () => {
  await using w = world();
  const ada = w.socket(), bob = w.socket();
  await ada.connect({ display_name: "ada" });
  await bob.connect({ display_name: "bob", capabilities: ["delivery_receipts"] });
  const opened = await w.call(openAsk, {
    body: { from_peer: "ada", to_peer: "bob", text: "Ready?" },
  });
  assert.equal(opened.delivery_state, "sent");
  await w.clock.settle();
  const [frame] = bob.of("ask");
  assert.equal(frame?.text, "Ready?");
  await bob.send({
    type: "ack",
    request_id: "1",
    correlation_id: opened.correlation_id,
    message: "Yes",
  });
  assert.deepEqual(bob.of("result")[0], {
    type: "result",
    request_id: "1",
    ok: true,
    close_reason: "ack_with_msg",
  });
  assert.equal(ada.of("ack")[0]?.text, "Yes");
});

Deno.test("a wait returns the reply, and changes the ask from push to pull [4.asks.wait-blocks]", async () => {
  await using w = world();
  const { ada } = await registerTwoPeers(w);
  const { correlation_id } = await w.call(openAsk, {
    body: { from_peer: ada.peer_id, to_peer: "bob", text: "Ready?" },
  });
  const id = correlation_id ?? "";
  const waiting = w.call(waitAsk, { params: { id }, body: { peer_id: "ada" } });
  await w.clock.advance(44_000);
  await w.call(ackAsk, { body: { correlation_id: id, message: "Yes" } });
  const resolved = await waiting;
  assert.deepEqual([resolved.status, "reply" in resolved && resolved.reply], ["resolved", "Yes"]);
});

const CHOICE = {
  kind: "choice",
  options: [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }],
};

Deno.test("an ask without to_peer is no_target, even if other fields are invalid [7.no-target] [7.routing.static]", async () => {
  await using w = world();
  const answer = await post(w, "/ask", {});
  assert.deepEqual([answer.status, answer.error, typeof answer.hint], [400, "no_target", "string"]);
  assert.equal((await post(w, "/ask", { from_peer: 5, text: null })).error, "no_target");
});

Deno.test("keys of /ask match in any case, and look-alikes of to_peer are refused with a hint [7.to-peer.look-alike] [7.routing.any-case]", async () => {
  await using w = world();
  const bob = await addPeer(w, "bob");
  const asked = await post(w, "/ask", { FROM_PEER: "ada", To_Peer: "bob", TEXT: "Hi" });
  assert.equal(asked.to_peer_id, bob.peer_id);
  for (const key of ["toPeer", "to-peer", "TOPEER", "to peer", "to_peer2", "_to_peer"]) {
    for (const beside of [{}, { to_peer: "bob" }]) {
      const answer = await post(w, "/ask", { ...beside, [key]: "bob", text: "Hi" });
      assert.deepEqual([answer.status, answer.error, answer.key], [400, "unknown_key", key]);
      assert.match(answer.hint, /to_peer/);
    }
  }
  const twice = await w.fetch("/ask", {
    method: "POST",
    body: `{"to_peer": "bob", "TO_PEER": "bob", "text": "Hi", "from_peer": "ada"}`,
  });
  assert.deepEqual([twice.status, (await twice.json()).error], [400, "unknown_key"]);
});

Deno.test("a null or blank to_peer is an unknown peer, even without a text [7.to-peer.blank] [7.routing.absent-only]", async () => {
  await using w = world();
  for (const to_peer of [null, "", "  "]) {
    const answer = await post(w, "/ask", { to_peer });
    assert.deepEqual([answer.status, answer.detail], [404, `Unknown peer: ${to_peer}`]);
  }
  assert.equal((await post(w, "/ask", { to_peer: 5 })).status, 422);
  const mixed = await post(w, "/ask", { to_peer: "nobody", text: "" });
  assert.deepEqual([mixed.status, mixed.error], [422, "invalid_request"]);
});

Deno.test("an ask to oneself is refused before addressability, and a full queue last [c1.order-of-checks.peers]", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1" } });
  await addPeer(w, "ada", { provenance: { addressable: false } });
  await addPeer(w, "bob");
  const self = await post(w, "/ask", { from_peer: "ada", to_peer: "ada", text: "Hi" });
  assert.deepEqual([self.status, self.error], [422, "to_self"]);
  await ask(w, "cli", "bob");
  const full = await post(w, "/ask", { from_peer: "cli", to_peer: "bob", text: "Hi" });
  assert.deepEqual([full.status, full.error, full.waiting], [429, "queue_full", 1]);
  await post(w, "/peers/bob/provenance", { addressable: false });
  const mute = await post(w, "/ask", { from_peer: "cli", to_peer: "bob", text: "Hi" });
  assert.equal(mute.error, "peer_not_addressable");
});

Deno.test("POST /ask to an offline peer is queued, and the response names the recipient [2.ask.correlation-id] [7.routing.named] [c1.ids] [c3.ask.offline] [c3.ask.unregistered]", async () => {
  await using w = world();
  const bob = await addPeer(w, "bob");
  await post(w, "/peers/bob/offline");
  const { status, correlation_id, ...answer } = await post(w, "/ask", {
    from_peer: "a-stranger",
    to_peer: "bob",
    text: "Ready?",
  });
  assert.equal(status, 200);
  assert.match(correlation_id, /^ask-[0-9a-f]{12}$/);
  assert.deepEqual(answer, {
    trace_id: correlation_id,
    to_peer_id: bob.peer_id,
    to_peer_name: "bob",
    delivery_state: "queued",
    reason: "recipient_offline",
  });
  const kept = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([kept.from_peer_id, kept.from_peer_name, kept.state], [
    null,
    "a-stranger",
    "open",
  ]);
});

Deno.test("a bare ack closes an ask, and a closed ask accepts only a bare ack [2.ask.outcome] [c3.ack.closed]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const bare = await post(w, "/ack", { correlation_id: id });
  assert.deepEqual(bare, { status: 200, ok: true, close_reason: "ack" });
  assert.deepEqual(await post(w, "/ack", { correlation_id: id }), bare);
  const late = await post(w, "/ack", { correlation_id: id, message: "Yes" });
  assert.deepEqual([late.status, late.error], [410, "already_closed"]);
  const declined = await post(w, "/decline", { correlation_id: id, reason: "Busy" });
  assert.deepEqual([declined.status, declined.error], [410, "already_closed"]);
  const cancelled = await post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  assert.equal(cancelled.error, "already_closed");
  const closed = await get(w, `/asks/${id}`);
  assert.deepEqual([closed.outcome, closed.reply, closed.responder], ["acknowledged", null, "bob"]);
  assert.equal(eventData(w, "ack").length, 1);
});

Deno.test("only the recipient may answer, and only the asker may cancel [c3.asks.cancel] [c3.ack.recipient]", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  for (const from_peer of ["ada", "a-stranger"]) {
    const ack = await post(w, "/ack", { correlation_id: id, from_peer });
    assert.deepEqual([ack.status, ack.error], [403, "not_the_recipient"]);
    const no = await post(w, "/decline", { correlation_id: id, from_peer, reason: "No" });
    assert.equal(no.error, "not_the_recipient");
  }
  const cancel = await post(w, `/asks/${id}/cancel`, { peer_id: "bob" });
  assert.deepEqual([cancel.status, cancel.error], [403, "not_the_asker"]);
  assert.equal((await post(w, "/ack", { correlation_id: "ask-ffffffffffff" })).status, 404);
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

Deno.test("a decline needs a reason that is not blank, and the asker reads it [3.ask.decline-closes] [3.ask.decline-reason] [4.decline] [2.ask.close-reason] [c3.decline.blank]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  for (const reason of ["", "  \n", undefined]) {
    assert.equal((await post(w, "/decline", { correlation_id: id, reason })).status, 422);
  }
  await post(w, "/decline", { correlation_id: id, reason: "Busy" });
  await w.clock.settle();
  const [ackFrame] = ada.of("ack");
  assert.deepEqual([ackFrame?.text, ackFrame?.outcome, ackFrame?.close_reason], [
    "Busy",
    "declined",
    "declined",
  ]);
});

Deno.test("an ack of a choice must name one of its options, by id or title [c2.ask.choice]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const [message, option_id] of [["b", "b"], ["apples", "a"]]) {
    const id = await ask(w, "ada", "bob", "Which?", { question: CHOICE });
    const wrong = await post(w, "/ack", { correlation_id: id, message: "Plums" });
    assert.deepEqual([wrong.status, wrong.error], [422, "unknown_option"]);
    const right = await post(w, "/ack", { correlation_id: id, message });
    assert.equal(right.close_reason, "answered");
    assert.equal((await get(w, `/asks/${id}`)).answer.option_id, option_id);
  }
});

Deno.test("a cancelled ask leaves the queue, or its recipient is notified", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const queued = await ask(w, "ada", "bob");
  await post(w, `/asks/${queued}/cancel`, { peer_id: "ada" });
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { dropped: 1 });
  const eve = await connectPeer(w, "eve");
  const sent = await ask(w, "ada", "eve");
  await post(w, `/asks/${sent}/cancel`, { peer_id: "ada", reason: "Never mind" });
  await w.clock.settle();
  const [ackFrame] = eve.of("ack");
  assert.deepEqual([ackFrame?.correlation_id, ackFrame?.close_reason, ackFrame?.text], [
    sent,
    "cancelled",
    "Never mind",
  ]);
});

Deno.test("an unanswered ask is evicted after 24 h, and its asker is notified [c2.ask.evicted]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const ada = await connectPeerWithReceipts(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  const human = await ask(w, "ada", "sam");
  await w.clock.advance(24 * 3_600_000);
  w.daemon.tick();
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
  await w.clock.advance(1);
  w.daemon.asks.tick(w.clock.now());
  await w.clock.settle();
  const evicted = await get(w, `/asks/${id}`);
  assert.deepEqual([evicted.close_reason, evicted.outcome], ["evicted", "failed"]);
  const [ended] = eventData(w, "ack");
  assert.deepEqual([ended?.["correlation_id"], ended?.["close_reason"]], [id, "evicted"]);
  assert.equal(ada.of("ack")[0]?.close_reason, "evicted");
  assert.equal((await get(w, `/asks/${human}`)).state, "open");
});

Deno.test("pending lists open asks, inbound and outbound, and those of an unregistered sender [4.asks.pending] [4.asks.pending-unregistered]", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob", { pane_id: "%3" });
  const ids = [await ask(w, "ada", "bob"), await ask(w, "bob", "ada"), await ask(w, "x", "bob")];
  await post(w, "/ack", { correlation_id: await ask(w, "ada", "bob") });
  const list = async (query: string) =>
    (await get(w, `/asks/pending?${query}`)).asks
      .map(({ correlation_id }: { correlation_id: string }) => ids.indexOf(correlation_id));
  assert.deepEqual(await list("peer_id=bob&direction=inbound"), [0, 2]);
  assert.deepEqual(await list("peer_id=bob&direction=outbound"), [1]);
  assert.deepEqual((await list("pane_id=%253&direction=both")).sort(), [0, 1, 2]);
  assert.deepEqual(await list("peer_id=x&direction=outbound"), [2]);
  assert.deepEqual(await list("peer_id=nobody&direction=both"), []);
});

Deno.test("asks are listed newest first, by state and peer, page by page [c3.asks.list]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const ids = [await ask(w, "x", "bob"), await ask(w, "x", "eve"), await ask(w, "x", "bob")];
  await post(w, "/ack", { correlation_id: ids[0] });
  const page = async (query: string) => {
    const { asks, next } = await get(w, `/asks?${query}`);
    const found = asks.map((record: { correlation_id: string }) =>
      ids.indexOf(record.correlation_id)
    );
    return { found, next };
  };
  assert.deepEqual((await page("")).found, [2, 1, 0]);
  assert.deepEqual((await page("state=open&peer_id=bob")).found, [2]);
  const first = await page("limit=2");
  assert.deepEqual(first.found, [2, 1]);
  const second = await page(`limit=2&cursor=${first.next}`);
  assert.deepEqual([second.found, second.next], [[0], null]);
});

Deno.test("a follow-up of the recipient supersedes the ask that it replies to", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const first = await ask(w, "ada", "bob");
  const second = await ask(w, "bob", "ada", "Which one?", { reply_to: first });
  assert.equal((await get(w, `/asks/${first}`)).close_reason, "reply_to");
  assert.equal((await get(w, `/asks/${second}`)).reply_to, first);
  const lost = { from_peer: "ada", to_peer: "bob", text: "Hi", reply_to: "ask-ffffffffffff" };
  assert.equal((await post(w, "/ask", lost)).error, "unknown_ask");
});

Deno.test("an answer counts as the human's only with a proven human origin [c2.human.door]", async () => {
  for (const at_terminal of [false, true]) {
    await using w = world({ settings: { "human.name": "sam" }, at_terminal });
    await addPeer(w, "ada");
    const id = await ask(w, "ada", "sam");
    await post(w, "/ack", { correlation_id: id, message: "Yes" }, { "x-mesh-terminal": "9" });
    const [ackFrame] = queue(w.daemon.ctx.db, w.daemon.directory.find("ada").peer_id, 1);
    assert.equal(ackFrame?.voice, at_terminal ? "human" : "unverified");
  }
});
