/** Surfaces: pushes, receipts, threads, the dashboard. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import {
  lastSentItem,
  notifyAndShow,
  pushTo,
  sendReceipt,
  sentItems,
  surface,
} from "../../../support/daemon/surfaces.ts";

const settings = { "human.name": "sam" };
const withHuman = () => world({ settings });
const texts = (socket: Parameters<typeof sentItems>[0]) =>
  sentItems(socket).map(({ item }) => item.text);

Deno.test("a surface is a peer of role service with its own name, and is not listed [4.surface.connects]", async () => {
  await using w = withHuman();
  await surface(w, "phone");
  const peer = await get(w, "/peers/phone");
  assert.deepEqual([peer.role, peer.status, peer.transport, peer.ws_connected], [
    "service",
    "online",
    "websocket",
    true,
  ]);
  const listed = (await get(w, "/peers?listed=true")).peers;
  assert.equal(listed.some(({ name }: { name: string }) => name === "phone"), false);
});

Deno.test("a surface may have an alias as its name, which still means the human", async () => {
  await using w = withHuman();
  const telegram = await surface(w, "telegram");
  assert.equal(telegram.closed, undefined);
  const { inbox_item_id, to_peer_name } = await notify(w, "ada", "telegram");
  assert.deepEqual([to_peer_name, lastSentItem(telegram).item.item_id], ["sam", inbox_item_id]);
});

Deno.test("an item is pushed complete after the commit, under its own delivery id [4.surface.pushed-to]", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const phone = await surface(w, "phone");
  const options = [{ id: "a", title: "Apples" }];
  const { inbox } = await post(w, "/ask", {
    from_peer: "ada",
    to_peer: "sam",
    text: "Which?",
    question: { kind: "choice", options },
  });
  assert.deepEqual(inbox.surfaces, ["phone"]);
  const { delivery_id, item, ...frame } = lastSentItem(phone);
  assert.match(delivery_id, /^qd-[0-9a-f]{12}$/);
  assert.deepEqual(frame, { type: "inbox_item", reply_to_ref: null });
  const { status: _, ...kept } = await get(w, `/inbox/${inbox.item_id}`);
  assert.deepEqual(item, kept);
  assert.deepEqual(kept.pushes, [{
    surface: "phone",
    status: "pending",
    surface_ref: null,
    surface_refs: [],
    verified: false,
    error_class: null,
    at: "2030-01-01T00:00:00.000Z",
  }]);
  assert.deepEqual([phone.of("ask"), phone.of("notify")], [[], []]);
});

Deno.test("a receipt makes the push pushed and verified, with its refs, and has one event [2.inbox.surface-refs] [4.surface.receipt]", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { delivery_id } = lastSentItem(phone);
  await w.clock.advance(1000);
  const pushed = { status: "pushed", surface_ref: 41, surface_refs: [41, "42"] };
  for (let n = 0; n < 3; n++) await sendReceipt(phone, delivery_id, pushed);
  await sendReceipt(phone, delivery_id, { status: "failed", error_class: "late" });
  assert.deepEqual(await pushTo(w, inbox_item_id, "phone"), {
    surface: "phone",
    status: "pushed",
    surface_ref: "41",
    surface_refs: ["41", "42"],
    verified: true,
    error_class: null,
    at: "2030-01-01T00:00:01.000Z",
  });
  const surface_ref = "41";
  assert.deepEqual(eventData(w, "surface_pushed"), [
    { surface: "phone", item_id: inbox_item_id, surface_ref },
  ]);
  assert.deepEqual(phone.of("error"), []);
});

Deno.test("a surface may render without a ref", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  for (const fields of [{}, { surface_ref: null }, { surface_ref: "", surface_refs: [] }]) {
    const { inbox_item_id = "" } = await notify(w, "ada", "sam");
    await sendReceipt(phone, lastSentItem(phone).delivery_id, { status: "pushed", ...fields });
    const push = await pushTo(w, inbox_item_id, "phone");
    assert.deepEqual([push?.status, push?.verified, push?.surface_ref, push?.surface_refs], [
      "pushed",
      true,
      null,
      [],
    ]);
  }
  assert.deepEqual(eventData(w, "surface_pushed").map(({ surface_ref }) => surface_ref), [
    null,
    null,
    null,
  ]);
});

Deno.test("a failed push keeps its refs and error class, and has no event [4.surface.failure] [7.surface-failed]", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { delivery_id } = lastSentItem(phone);
  const failed = { status: "failed", error_class: "rate_limited", surface_refs: ["41", "42"] };
  await sendReceipt(phone, delivery_id, failed);
  const { at: _, ...push } = await pushTo(w, inbox_item_id, "phone") ?? { at: "" };
  assert.deepEqual(push, {
    surface: "phone",
    status: "failed",
    surface_ref: "41",
    surface_refs: ["41", "42"],
    verified: false,
    error_class: "rate_limited",
  });
  assert.deepEqual(eventData(w, "surface_pushed"), []);
  assert.deepEqual((await get(w, "/inbox?surface=phone")).items, []);
  const replied = { surface: "phone", surface_ref: "42", text: "" };
  assert.equal((await post(w, "/inbox/reply", replied)).action, "read");
  assert.deepEqual(await w.daemon.deliveryAudit.counts(), { accepted: 1, failed: 1 });
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.deepEqual(stages.at(-1).detail, "rate_limited");
});

Deno.test("a receipt of another peer's or an unknown delivery is ignored", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const wall = await surface(w, "wall");
  const eve = await connectPeer(w, "eve", { capabilities: ["delivery_receipts"] });
  const { inbox_item_id = "", delivery_id } = await notify(w, "ada", "sam");
  const ownDelivery = lastSentItem(phone).delivery_id;
  for (const thief of [wall, eve]) await sendReceipt(thief, ownDelivery);
  for (const id of [delivery_id, inbox_item_id, "qd-ffffffffffff", ""]) {
    await sendReceipt(phone, id);
  }
  for (const status of ["accepted", "seen"]) await sendReceipt(phone, ownDelivery, { status });
  const { pushes } = await get(w, `/inbox/${inbox_item_id}`);
  assert.deepEqual(pushes.map(({ status }: { status: string }) => status), ["pending", "pending"]);
  assert.deepEqual(eventData(w, "surface_pushed"), []);
});

Deno.test("several surfaces all get every item, and each has its own push", async () => {
  await using w = withHuman();
  const screens = [await surface(w, "phone"), await surface(w, "telegram"), await surface(w, "x")];
  const { surfaces, inbox_item_id = "" } = await notify(w, "ada", "sam", "To all");
  assert.deepEqual(surfaces?.toSorted(), ["phone", "telegram", "x"]);
  for (const screen of screens) assert.deepEqual(texts(screen), ["To all"]);
  assert.equal(new Set(screens.map((screen) => lastSentItem(screen).delivery_id)).size, 3);
  await sendReceipt(screens[1]!, lastSentItem(screens[1]!).delivery_id, {
    status: "pushed",
    surface_ref: "9",
  });
  assert.equal((await pushTo(w, inbox_item_id, "telegram"))?.status, "pushed");
  assert.equal((await pushTo(w, inbox_item_id, "phone"))?.status, "pending");
});

Deno.test("an item's frame refers to the item before it in its thread", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const phone = await surface(w, "phone");
  const showWithRef = async (ref: string | null) => {
    const { delivery_id, item, reply_to_ref } = lastSentItem(phone);
    const failed = { status: "failed", error_class: "x" };
    await sendReceipt(phone, delivery_id, ref ? { status: "pushed", surface_ref: ref } : failed);
    return { item, reply_to_ref };
  };
  const first = await ask(w, "ada", "sam", "Ready?");
  const asked = await showWithRef("10");
  await notify(w, "ada", "sam", "Another matter");
  assert.equal((await showWithRef("11")).reply_to_ref, null);
  await ask(w, "ada", "sam", "Well?", { reply_to: first });
  assert.equal((await showWithRef(null)).reply_to_ref, "10");
  await post(w, `/asks/${first}/cancel`, { peer_id: "ada" });
  await post(w, `/inbox/${asked.item.item_id}/reply`, { surface: "phone", text: "For what?" });
  const { correlation_id } = ada.of("ask").at(-1) ?? {};
  await post(w, "/ack", { correlation_id, message: "For lunch" });
  const answer = await showWithRef("13");
  assert.deepEqual([answer.item.text, answer.reply_to_ref], ["For lunch", "10"]);
  await ask(w, "ada", "sam", "Now?", { reply_to: correlation_id ?? "" });
  assert.equal((await showWithRef("14")).reply_to_ref, "13");
});

Deno.test("the first item of a thread has no reply_to_ref, however late it is shown", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const phone = await surface(w, "phone");
  const first = await ask(w, "ada", "sam", "First");
  await sendReceipt(phone, lastSentItem(phone).delivery_id, { status: "failed", error_class: "x" });
  await ask(w, "ada", "sam", "Second", { reply_to: first });
  await sendReceipt(phone, lastSentItem(phone).delivery_id, { status: "pushed", surface_ref: "2" });
  await phone.drop();
  const again = await surface(w, "phone");
  assert.deepEqual(sentItems(again).map(({ reply_to_ref }) => reply_to_ref), [null]);
});

Deno.test("a thread of any length stays one thread", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const phone = await surface(w, "phone");
  let reply_to = await ask(w, "ada", "sam", "0");
  await sendReceipt(phone, lastSentItem(phone).delivery_id, { status: "pushed", surface_ref: "1" });
  for (let n = 1; n < 40; n++) reply_to = await ask(w, "ada", "sam", `${n}`, { reply_to });
  assert.equal(lastSentItem(phone).reply_to_ref, "1");
});

Deno.test("the human's follow-up and its answer stay in the thread", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const phone = await surface(w, "phone");
  const first = await ask(w, "sam", "ada", "How far?");
  await post(w, "/ack", { correlation_id: first, message: "Half way" });
  await sendReceipt(phone, lastSentItem(phone).delivery_id, {
    status: "pushed",
    surface_ref: "30",
  });
  await post(w, "/inbox/reply", { surface: "phone", surface_ref: "30", text: "And now?" });
  const asked = ada.of("ask").at(-1);
  assert.equal(asked?.reply_to, first);
  await post(w, "/ack", { correlation_id: asked?.correlation_id, message: "There" });
  const { item, reply_to_ref } = lastSentItem(phone);
  assert.deepEqual([item.text, reply_to_ref], ["There", "30"]);
});

Deno.test("the answer to the human's ask about a notification refers to the notification", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const phone = await surface(w, "phone");
  await notifyAndShow(w, phone, "20");
  const body = { surface: "phone", surface_ref: 20, text: "Why?", ref: 21 };
  const { correlation_id } = await post(w, "/inbox/reply", body);
  assert.deepEqual((await get(w, `/asks/${correlation_id}`)).origin, {
    surface: "phone",
    ref: "21",
  });
  await ada.send({ type: "ack", request_id: "1", correlation_id, message: "Because" });
  const { item, reply_to_ref } = lastSentItem(phone);
  assert.deepEqual([item.text, reply_to_ref], ["Because", "20"]);
});

Deno.test("the delivery of an item is listed, counted and traced", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const phone = await surface(w, "phone");
  const id = await ask(w, "ada", "sam", "Ready?");
  const { delivery_id } = lastSentItem(phone);
  const { peer_id } = await get(w, "/peers/phone");
  const [delivery] = (await get(w, `/deliveries?peer_id=${peer_id}`)).deliveries;
  assert.deepEqual(
    [delivery.delivery_id, delivery.kind, delivery.correlation_id, delivery.to_peer_id],
    [delivery_id, "inbox_item", id, peer_id],
  );
  await w.clock.advance(60_000);
  w.daemon.tick();
  await sendReceipt(phone, delivery_id);
  const trace = await get(w, `/traces/${delivery_id}`);
  assert.deepEqual(trace.stages.map(({ stage }: { stage: string }) => stage), [
    "created",
    "resolved",
    "queued",
    "attempting",
    "sent",
    "accepted",
  ]);
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

Deno.test("refs that are not valid text are refused, and the socket stays open", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { delivery_id } = lastSentItem(phone);
  for (const surface_ref of [{}, true, "a\u0000b", "\ud800", "9".repeat(5000)]) {
    await sendReceipt(phone, delivery_id, { status: "pushed", surface_ref });
  }
  assert.equal(phone.of("error").length, 5);
  assert.equal((await pushTo(w, inbox_item_id, "phone"))?.status, "pending");
  await sendReceipt(phone, delivery_id, { status: "pushed", surface_ref: "9".repeat(300) });
  assert.equal((await pushTo(w, inbox_item_id, "phone"))?.surface_ref, "9".repeat(300));
});

Deno.test("the dashboard is one surface, however many streams show an item", async () => {
  await using w = withHuman();
  const readers = [await stream(w), await stream(w)];
  const { inbox_item_id = "", surfaces } = await notify(w, "ada", "sam");
  await w.clock.settle();
  assert.deepEqual(surfaces, ["dashboard"]);
  assert.equal(eventData(w, "surface_pushed").length, 1);
  const push = await pushTo(w, inbox_item_id, "dashboard");
  const event = w.events.find(({ type }) => type === "inbox_item");
  assert.deepEqual([push?.status, push?.verified, push?.surface_ref, push?.surface_refs], [
    "pushed",
    true,
    String(event?.id),
    [String(event?.id)],
  ]);
  await readers[0]?.();
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, ["dashboard"]);
  await readers[1]?.();
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, []);
});

/** Reads a dashboard's stream; the returned function disconnects. */
async function stream(w: World) {
  const gone = new AbortController();
  const { body } = await w.fetch("/events/stream?surface=dashboard", { signal: gone.signal });
  assert.ok(body);
  const reader = body.getReader();
  const read = async (): Promise<void> => {
    const { done } = await reader.read();
    if (!done) await read();
  };
  const over = read();
  await w.clock.settle();
  return async () => {
    gone.abort();
    await over;
    await w.clock.settle();
  };
}
