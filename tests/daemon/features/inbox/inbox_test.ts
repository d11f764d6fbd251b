/** The human's inbox: items, reading, replying, refs. */

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
import { notifyAndShow, surface } from "../../../support/daemon/surfaces.ts";

const withHuman = () => world({ settings: { "human.name": "sam" } });

interface Item {
  item_id: string;
  text: string;
  read: boolean;
  replied: boolean;
}

async function list(w: World, query = ""): Promise<Item[]> {
  return (await get(w, `/inbox${query}`)).items;
}

async function askHuman(w: World, text = "Ready?", more = {}): Promise<[string, string]> {
  const body = { from_peer: "ada", to_peer: "sam", text, ...more };
  const { correlation_id, inbox } = await post(w, "/ask", body);
  return [correlation_id, inbox.item_id];
}

Deno.test("without a human every inbox route is 503 [4.inbox.no-human] [7.no-human]", async () => {
  await using w = world();
  const answers = [
    await get(w, "/inbox"),
    await get(w, "/inbox/inb-000000000000"),
    await post(w, "/inbox/inb-000000000000/read"),
    await post(w, "/inbox/inb-000000000000/reply", { text: "Hi" }),
    await post(w, "/inbox/reply", { surface: "telegram", surface_ref: "1", text: "Hi" }),
    await get(w, "/inbox?limit=many&through_ref=x"),
    await post(w, "/inbox/inb-000000000000/reply", { text: 5 }),
    await post(w, "/inbox/reply", {}),
  ];
  for (const { status, error } of answers) assert.deepEqual([status, error], [503, "no_human"]);
});

Deno.test("an ask to the human is an inbox item, and its event has no text [6.inbox-item] [2.inbox.event-fields] [2.inbox.text] [4.ask.inbox] [4.inbox.get] [6.dashboard-text]", async () => {
  await using w = withHuman();
  const ada = await addPeer(w, "ada");
  const [correlation_id, item_id] = await askHuman(w);
  assert.match(item_id, /^inb-[0-9a-f]{12}$/);
  const { status: _, created_at, ...item } = await get(w, `/inbox/${item_id}`);
  assert.deepEqual(item, {
    item_id,
    kind: "ask",
    from: "ada",
    from_peer_id: ada.peer_id,
    voice: "peer",
    correlation_id,
    text: "Ready?",
    attachments: [],
    question: null,
    read: false,
    read_at: null,
    read_by: null,
    replied: false,
    replied_at: null,
    snoozed_until: null,
    state: "open",
    close_reason: null,
    outcome: null,
    option_id: null,
    responder: null,
    closed_at: null,
    expires_at: null,
    pushes: [],
  });
  assert.match(created_at, /Z$/);
  const { from_peer_id } = item;
  assert.deepEqual(eventData(w, "inbox_item"), [
    { item_id, kind: "ask", from: "ada", from_peer_id, correlation_id },
  ]);
});

Deno.test("the open items are those whose ask is open, read or not, before the unread ones", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const [first_ask, asked_item] = await askHuman(w);
  await post(w, `/inbox/${asked_item}/read`);
  for (const text of ["1", "2", "3"]) await notify(w, "ada", "sam", text);
  const texts = async (query: string) => (await list(w, query)).map(({ text }) => text);
  assert.deepEqual(await texts("?open=true"), ["Ready?", "3", "2", "1"]);
  const [newest] = await list(w, "?limit=1");
  await post(w, `/inbox/${newest?.item_id}/read`);
  assert.deepEqual(await texts("?open=true&limit=2"), ["Ready?", "2"]);
  await post(w, "/ack", { correlation_id: first_ask, message: "Yes" });
  assert.deepEqual(await texts("?open=true"), ["2", "1"]);
  assert.deepEqual(await texts("?open=false"), ["3", "2", "1", "Ready?"]);
});

Deno.test("the inbox is listed newest first, by unread and limit, with the human's name [4.inbox.list] [4.inbox.unread] [4.inbox.limit] [8.inbox.limit] [c3.inbox.limit]", async () => {
  await using w = withHuman();
  for (const text of ["1", "2", "3"]) await notify(w, "ada", "sam", text);
  const { human, human_peer_id, items } = await get(w, "/inbox");
  assert.deepEqual([human, human_peer_id], ["sam", w.daemon.directory.find("sam").peer_id]);
  assert.deepEqual(items.map(({ text }: Item) => text), ["3", "2", "1"]);
  await post(w, `/inbox/${items[0].item_id}/read`, { surface: "telegram" });
  assert.deepEqual((await list(w, "?unread=1")).map(({ text }) => text), ["2", "1"]);
  assert.deepEqual((await list(w, "?limit=1")).map(({ text }) => text), ["3"]);
  for (const limit of ["0", "501", "-1", "many", ""]) {
    assert.equal((await get(w, `/inbox?limit=${limit}`)).status, 422, limit);
  }
});

Deno.test("marking an item read is for every surface, and repeating it changes nothing [3.inbox.read] [4.inbox.read] [6.inbox-updated]", async () => {
  await using w = withHuman();
  const { inbox_item_id } = await notify(w, "ada", "sam");
  await post(w, `/inbox/${inbox_item_id}/read`, { surface: "telegram" });
  await w.clock.advance(5);
  await post(w, `/inbox/${inbox_item_id}/read`, { surface: "dashboard" });
  const item = await get(w, `/inbox/${inbox_item_id}`);
  assert.deepEqual([item.read, item.read_by], [true, "telegram"]);
  assert.deepEqual(eventData(w, "inbox_updated"), [
    { item_id: inbox_item_id, read: true, replied: false, surface: "telegram" },
  ]);
  assert.equal((await post(w, "/inbox/inb-ffffffffffff/read")).error, "unknown_item");
});

Deno.test("an item is unread again after a mistake, but not after a reply", async () => {
  await using w = withHuman();
  const { inbox_item_id } = await notify(w, "ada", "sam");
  const path = `/inbox/${inbox_item_id}`;
  await post(w, `${path}/read`, {});
  await post(w, `${path}/unread`, { surface: "telegram" });
  const item = await get(w, path);
  assert.deepEqual([item.read, item.read_at, item.read_by], [false, null, null]);
  assert.deepEqual(eventData(w, "inbox_updated").at(-1), {
    item_id: inbox_item_id,
    read: false,
    replied: false,
    surface: "telegram",
  });
  const [, answered] = await askHuman(w);
  await post(w, `/inbox/${answered}/reply`, { text: "Yes" });
  await post(w, `/inbox/${answered}/unread`, {});
  assert.equal((await get(w, `/inbox/${answered}`)).read, true);
  assert.equal((await post(w, "/inbox/inb-ffffffffffff/unread", {})).error, "unknown_item");
});

Deno.test("an item that is put off says until when, and stays open and unread", async () => {
  await using w = withHuman();
  const [, item_id] = await askHuman(w);
  const until = "2030-01-01T00:00:00.000Z";
  await post(w, `/inbox/${item_id}/snooze`, { until });
  const [item] = (await get(w, "/inbox?open=true")).items;
  assert.deepEqual([item.snoozed_until, item.read, item.state], [until, false, "open"]);
  await post(w, `/inbox/${item_id}/snooze`, { until: null });
  assert.equal((await get(w, `/inbox/${item_id}`)).snoozed_until, null);
  assert.equal((await post(w, `/inbox/${item_id}/snooze`, { until: "soon" })).status, 422);
  assert.equal((await post(w, `/inbox/${item_id}/snooze`, {})).status, 422);
});

Deno.test("a reply to an open ask is its ack, framed as the human's, with one event [3.inbox.reply-acks] [4.inbox.reply-acked] [2.inbox.flags]", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const [correlation_id, item_id] = await askHuman(w);
  const reply = await post(w, `/inbox/${item_id}/reply`, { surface: "telegram", text: "Yes" });
  assert.deepEqual(reply, { status: 200, action: "acked", correlation_id });
  assert.equal(ada.of("ack")[0]?.text, "Yes");
  const closed = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([closed.reply, closed.close_reason], ["Yes", "ack_with_msg"]);
  assert.deepEqual(eventData(w, "inbox_updated"), [
    { item_id, read: true, replied: true, surface: "telegram" },
  ]);
  const { delivery_id } = ada.of("ack")[0] ?? { delivery_id: "" };
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.voice, "human");
});

Deno.test("an empty reply is a bare ack of an open ask, and marks any other item read [4.inbox.reply-empty]", async () => {
  await using w = withHuman();
  const [correlation_id, item_id] = await askHuman(w);
  const acked = await post(w, `/inbox/${item_id}/reply`, { text: "" });
  assert.deepEqual([acked.action, acked.correlation_id], ["acked", correlation_id]);
  assert.equal((await get(w, `/asks/${correlation_id}`)).close_reason, "ack");
  const { inbox_item_id } = await notify(w, "ada", "sam");
  for (const id of [item_id, inbox_item_id]) {
    const read = await post(w, `/inbox/${id}/reply`, {});
    assert.deepEqual(read, { status: 200, action: "read", correlation_id: null });
  }
  assert.equal((await get(w, `/inbox/${inbox_item_id}`)).replied, false);
});

Deno.test("a reply to a closed ask or a notification opens a new ask to its sender [4.inbox.reply-asked] [c3.inbox.reply-closed]", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const [first, item_id] = await askHuman(w);
  await post(w, `/asks/${first}/cancel`, { peer_id: "ada" });
  const repliedAgain = await post(w, `/inbox/${item_id}/reply`, { text: "And now?" });
  assert.equal(repliedAgain.action, "asked");
  const { inbox_item_id } = await notify(w, "ada", "sam");
  assert.equal((await post(w, `/inbox/${inbox_item_id}/reply`, { text: "Why?" })).action, "asked");
  const [second, third] = ada.of("ask");
  assert.deepEqual([second?.correlation_id, second?.reply_to, second?.from_peer], [
    repliedAgain.correlation_id,
    first,
    "sam",
  ]);
  assert.deepEqual([third?.text, third?.reply_to], ["Why?", undefined]);
});

Deno.test("a reply has the limits of a text, and an invalid one reaches no agent", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const [, item_id] = await askHuman(w);
  for (const text of ["a\u0000b", "\ud800", "ä".repeat(131_073), 5]) {
    assert.equal((await post(w, `/inbox/${item_id}/reply`, { text })).status, 422);
  }
  const surface = "a\u0000b";
  assert.equal((await post(w, `/inbox/${item_id}/read`, { surface })).status, 422);
  const long = await post(w, `/inbox/${item_id}/reply`, { text: "ä".repeat(131_072) });
  assert.equal(long.action, "acked");
});

Deno.test("a reply to a sender that is gone is refused, and leaves the item unchanged", async () => {
  await using w = withHuman();
  const { inbox_item_id } = await notify(w, "a-stranger", "sam");
  const lost = await post(w, `/inbox/${inbox_item_id}/reply`, { text: "Who?" });
  assert.deepEqual([lost.status, lost.detail], [404, "Unknown peer: a-stranger"]);
  const item = await get(w, `/inbox/${inbox_item_id}`);
  assert.deepEqual([item.read, item.replied], [false, false]);
});

Deno.test("an inbox reply to a choice must name an option [3.inbox.reply-answers] [4.inbox.reply-answered]", async () => {
  await using w = withHuman();
  const options = [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }];
  const [id, item_id] = await askHuman(w, "Which?", { question: { kind: "choice", options } });
  const wrong = await post(w, `/inbox/${item_id}/reply`, { text: "Plums" });
  assert.deepEqual([wrong.status, wrong.error], [422, "unknown_option"]);
  assert.equal((await get(w, `/inbox/${item_id}`)).replied, false);
  const right = await post(w, `/inbox/${item_id}/reply`, { text: "", option_id: "b" });
  assert.equal(right.action, "answered");
  assert.equal((await get(w, `/asks/${id}`)).answer.option_id, "b");
});

Deno.test("a surface lists the items that it has shown, newest first, up to a ref [4.inbox.surface] [4.inbox.through-ref]", async () => {
  await using w = withHuman();
  const telegram = await surface(w, "telegram");
  for (const ref of ["10", "9", "100000000000000000000", null, "x"]) {
    await notifyAndShow(w, telegram, ref);
  }
  await notify(w, "ada", "sam", "never shown");
  const texts = async (query: string) => (await list(w, query)).map(({ text }) => text);
  const all = await texts("?surface=telegram");
  assert.deepEqual(all.slice(0, 3), ["ref 100000000000000000000", "ref 10", "ref 9"]);
  assert.equal(all.length, 5);
  assert.deepEqual(await texts("?surface=telegram&through_ref=10"), ["ref 10", "ref 9"]);
  assert.deepEqual(await texts("?surface=dashboard"), []);
  assert.equal((await get(w, "/inbox?surface=telegram&through_ref=x")).status, 422);
});

Deno.test("a reply by ref finds the item by any of its refs [4.inbox.reply-by-ref] [4.inbox.reply-by-ref-unknown] [7.unknown-ref]", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  await notifyAndShow(w, await surface(w, "telegram"), "41", ["42"]);
  const body = { surface: "telegram", text: "Why?" };
  assert.equal((await post(w, "/inbox/reply", { ...body, surface_ref: "42" })).action, "asked");
  assert.equal(ada.of("ask")[0]?.text, "Why?");
  for (const wrong of [{ surface_ref: "43" }, { surface_ref: "41", surface: "dashboard" }]) {
    const answer = await post(w, "/inbox/reply", { ...body, ...wrong });
    assert.deepEqual([answer.status, answer.error], [404, "unknown_surface_ref"]);
  }
});

Deno.test("an answer to the human's own ask is an inbox item", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const id = await ask(w, "telegram", "ada", "How far?");
  await post(w, "/ack", { correlation_id: id, message: "Half way" });
  const [item] = await list(w);
  assert.equal(item?.text, "Half way");
});
