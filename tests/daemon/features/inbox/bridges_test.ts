/** Bridges: plain frames, aliases, and the connection of the human. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { pushTo, sendReceipt, sentItems, surface } from "../../../support/daemon/surfaces.ts";

const withHuman = () => world({ settings: { "human.name": "sam" } });

Deno.test("a bridge with an alias gets an item as a plain notify or ask frame [4.surface.bridge] [4.surface.bridge-unverified]", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const telegram = await connectPeer(w, "telegram");
  const { delivery_id, surfaces, inbox_item_id = "" } = await notify(w, "ada", "sam", "Done");
  const correlation_id = await ask(w, "ada", "sam", "Ready?");
  assert.deepEqual(surfaces, ["telegram"]);
  const [note] = telegram.of("notify"), [asked] = telegram.of("ask");
  assert.deepEqual([note?.delivery_id, note?.text, note?.from_peer, note?.to_peer], [
    delivery_id,
    "Done",
    "ada",
    "sam",
  ]);
  assert.deepEqual([asked?.correlation_id, asked?.text], [correlation_id, "Ready?"]);
  assert.deepEqual(telegram.of("inbox_item"), []);
  const { at: _, ...push } = await pushTo(w, inbox_item_id, "telegram") ?? { at: "" };
  assert.deepEqual(push, {
    surface: "telegram",
    status: "pushed",
    surface_ref: null,
    surface_refs: [],
    verified: false,
    error_class: null,
  });
});

Deno.test("a bridge proves only the write: its receipts of an item are ignored", async () => {
  await using w = withHuman();
  const telegram = await connectPeer(w, "telegram", { capabilities: ["delivery_receipts"] });
  const { delivery_id, inbox_item_id = "" } = await notify(w, "ada", "sam");
  await sendReceipt(telegram, delivery_id, { status: "pushed", surface_ref: "9" });
  await sendReceipt(telegram, delivery_id, { status: "failed", error_class: "x" });
  const push = await pushTo(w, inbox_item_id, "telegram");
  assert.deepEqual([push?.status, push?.verified, push?.surface_ref], ["pushed", false, null]);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 1 });
  assert.deepEqual(eventData(w, "surface_pushed"), [
    { surface: "telegram", item_id: inbox_item_id, surface_ref: null },
  ]);
});

Deno.test("a bridge is a peer of role service, and is not listed", async () => {
  await using w = withHuman();
  for (const [name, more] of [["telegram", {}], ["dashboard", { role: "human" }]] as const) {
    const bridge = await connectPeer(w, name, more);
    const { peer_id = "" } = bridge.of("connected")[0] ?? {};
    const peer = await get(w, `/peers/${peer_id}`);
    assert.deepEqual([bridge.closed, peer.role, peer.name], [undefined, "service", name]);
    assert.equal((await get(w, `/peers/${name}`)).name, "sam");
  }
  const { peers } = await get(w, "/peers?listed=true");
  assert.deepEqual(peers.map(({ name }: { name: string }) => name), ["sam"]);
  const { sent_to } = await post(w, "/broadcast", { from_peer: "ada", text: "All" });
  assert.deepEqual(sent_to, []);
});

Deno.test("a notification is accepted by the inbox, and a bridge does not change its delivery", async () => {
  await using w = withHuman();
  const sam = await connectPeer(w, "sam", { role: "human" });
  const answer = await notify(w, "ada", "sam");
  assert.deepEqual([answer.delivery_state, answer.delivered, answer.surfaces], [
    "accepted",
    true,
    ["sam"],
  ]);
  assert.equal(sam.of("notify")[0]?.delivery_id, answer.delivery_id);
  const push = await pushTo(w, answer.inbox_item_id ?? "", "sam");
  assert.deepEqual([push?.status, push?.verified], ["pushed", false]);
  const { transport, ws_connected, inbound_status } = await get(w, "/peers/sam");
  assert.deepEqual([transport, ws_connected, inbound_status], ["none", true, "ok"]);
  await sam.drop();
  const { status, addressable } = await get(w, "/peers/sam");
  assert.deepEqual([status, addressable], ["online", true]);
});

Deno.test("the first connection of role human is the human, and a second human is refused", async () => {
  await using w = world();
  assert.equal((await get(w, "/inbox")).error, "no_human");
  const sam = await connectPeer(w, "sam", { role: "human" });
  const { human, human_peer_id } = await get(w, "/inbox");
  assert.deepEqual([human, human_peer_id], ["sam", sam.of("connected")[0]?.peer_id]);
  const tom = await connectPeer(w, "tom", { role: "human" });
  assert.deepEqual([tom.closed?.code, tom.of("error")[0]?.error], [4002, "human_exists"]);
  const again = await connectPeer(w, "sam", { role: "human" });
  assert.deepEqual([again.of("connected")[0]?.peer_id, sam.closed?.code], [human_peer_id, 4009]);
});

Deno.test("a surface with the human's name is not the human", async () => {
  await using w = withHuman();
  const sam = await connectPeer(w, "sam", { role: "human" });
  const screen = await surface(w, "sam");
  const { peer_id, display_name } = screen.of("connected")[0] ?? {};
  assert.deepEqual([sam.closed, display_name], [undefined, "sam-2"]);
  assert.notEqual(peer_id, sam.of("connected")[0]?.peer_id);
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  await sendReceipt(screen, sentItems(screen)[0]?.delivery_id ?? "", {
    status: "pushed",
    surface_ref: "1",
  });
  assert.equal((await pushTo(w, inbox_item_id, "sam"))?.surface_ref, "1");
  await screen.drop();
  assert.equal((await surface(w, "sam")).of("connected")[0]?.peer_id, peer_id);
});

Deno.test("a human may be named by an alias if there is no other human", async () => {
  await using w = world();
  await connectPeer(w, "dashboard");
  assert.equal((await get(w, "/inbox")).error, "no_human");
  const telegram = await connectPeer(w, "telegram", { role: "human" });
  assert.equal((await get(w, "/inbox")).human, "telegram");
  await notify(w, "ada", "dashboard", "Hi");
  assert.equal(telegram.of("notify")[0]?.text, "Hi");
});

Deno.test("bridges and surfaces all get every item", async () => {
  await using w = withHuman();
  const sam = await connectPeer(w, "sam", { role: "human" });
  const telegram = await connectPeer(w, "telegram", { role: "human" });
  const dashboard = await connectPeer(w, "dashboard");
  const phone = await surface(w, "phone");
  const { surfaces, inbox_item_id } = await notify(w, "ada", "sam", "To all");
  assert.deepEqual(surfaces?.toSorted(), ["dashboard", "phone", "sam", "telegram"]);
  for (const bridge of [sam, telegram, dashboard]) {
    assert.deepEqual(bridge.of("notify").map(({ text }) => text), ["To all"]);
  }
  assert.equal(sentItems(phone).length, 1);
  const { pushes } = await get(w, `/inbox/${inbox_item_id}`);
  assert.equal(pushes.length, 4);
});

Deno.test("a newer bridge replaces an older one of the same name", async () => {
  await using w = withHuman();
  const first = await connectPeer(w, "telegram");
  const second = await connectPeer(w, "telegram", { path: "/elsewhere" });
  assert.deepEqual([first.closed?.code, second.closed], [4009, undefined]);
  await notify(w, "ada", "sam");
  assert.deepEqual([first.of("notify").length, second.of("notify").length], [0, 1]);
});

Deno.test("a disconnected bridge gets nothing, and has no push", async () => {
  await using w = withHuman();
  const telegram = await connectPeer(w, "telegram");
  await telegram.drop();
  const { surfaces, inbox_item_id } = await notify(w, "ada", "sam");
  assert.deepEqual([surfaces, (await get(w, `/inbox/${inbox_item_id}`)).pushes], [[], []]);
  assert.deepEqual((await connectPeer(w, "telegram")).of("notify"), []);
});

Deno.test("the push to a bridge with a full buffer is failed", async () => {
  await using w = withHuman();
  const telegram = await connectPeer(w, "telegram");
  telegram.buffered = 2 ** 30;
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const push = await pushTo(w, inbox_item_id, "telegram");
  assert.deepEqual([push?.status, push?.error_class], ["failed", "socket_closed"]);
  await w.tick();
  await w.tick();
  assert.deepEqual([telegram.closed?.code, eventData(w, "surface_pushed")], [4013, []]);
  assert.deepEqual((await connectPeer(w, "telegram")).of("notify"), []);
});

Deno.test("a surface that reconnects as a bridge gets its queue as plain frames", async () => {
  await using w = withHuman();
  await (await surface(w, "telegram")).drop();
  await notify(w, "ada", "sam", "Missed");
  const bridge = await connectPeer(w, "telegram");
  assert.deepEqual(bridge.of("notify").map(({ text }) => text), ["Missed"]);
  assert.deepEqual(bridge.of("inbox_item"), []);
  await notify(w, "ada", "sam", "New");
  assert.deepEqual(bridge.of("notify").map(({ text }) => text), ["Missed", "New"]);
  const screen = await surface(w, "telegram");
  assert.deepEqual(sentItems(screen).map(({ item }) => item.text), ["Missed"]);
});

Deno.test("messages of a bridge are the human's, but unverified", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  for (const [name, more] of [["telegram", {}], ["sam", { role: "human" }]] as const) {
    const bridge = await connectPeer(w, name, more);
    await bridge.send({ type: "notify", request_id: "1", to_peer: "ada", text: "Hello" });
    const received = ada.of("notify").at(-1);
    assert.equal(received?.from_peer, "sam");
    assert.equal(w.daemon.delivery.findMessage(received?.delivery_id ?? "")?.voice, "unverified");
    const correlation_id = await ask(w, "ada", "sam");
    await bridge.send({ type: "ack", request_id: "2", correlation_id, message: "Yes" });
    assert.equal(bridge.of("result").at(-1)?.["close_reason"], "ack_with_msg");
    const ackFrame = ada.of("ack").at(-1);
    assert.deepEqual([ackFrame?.from_peer, ackFrame?.text], ["sam", "Yes"]);
    assert.equal(w.daemon.delivery.findMessage(ackFrame?.delivery_id ?? "")?.voice, "unverified");
  }
});

Deno.test("the verbs of a surface are a service's, not the human's", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const phone = await surface(w, "phone");
  await phone.send({ type: "notify", request_id: "1", to_peer: "ada", text: "Hello" });
  assert.equal(ada.of("notify")[0]?.from_peer, "phone");
  const correlation_id = await ask(w, "ada", "sam");
  await phone.send({ type: "ack", request_id: "2", correlation_id, message: "Yes" });
  assert.equal(phone.of("result").at(-1)?.["error"], "not_the_recipient");
});

Deno.test("closing the human's own ask is an ack on the human's connection, a notify on bridges", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const sam = await connectPeer(w, "sam", { role: "human" });
  const telegram = await connectPeer(w, "telegram");
  const phone = await surface(w, "phone");
  const correlation_id = await ask(w, "sam", "ada", "How far?");
  await post(w, "/ack", { correlation_id, message: "Half way" });
  assert.deepEqual([sam.of("ack")[0]?.text, sam.of("notify")], ["Half way", []]);
  assert.deepEqual([telegram.of("notify")[0]?.text, telegram.of("ack")], ["Half way", []]);
  const [{ item } = { item: undefined }] = sentItems(phone);
  assert.deepEqual([item?.kind, item?.text], ["notify", "Half way"]);
});

Deno.test("an agent that registers over HTTP cannot take an alias as its name", async () => {
  await using w = withHuman();
  const body = { path: "/work", backend: "sdk", name: "telegram" };
  for (const role of ["agent", "service", "human"]) {
    assert.equal((await post(w, "/peers", { ...body, role })).error, "reserved_name");
  }
});
