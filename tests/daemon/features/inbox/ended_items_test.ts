/** Items whose ask is over: what they show, and what a reply to them does. */

import assert from "node:assert/strict";
import {
  ALLOW_OR_DENY,
  DECISION,
  startAskBlocking,
  withHuman,
} from "../../../support/daemon/blocking_questions.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import type { World } from "../../../support/world.ts";

const CHOICE = { kind: "choice", options: ALLOW_OR_DENY };

/** The item of an open choice, and how it ends. */
async function endedItem(w: World, end: (correlation_id: string) => Promise<unknown>) {
  await addPeer(w, "ada");
  const id = await ask(w, "ada", "sam", "Which?", { question: CHOICE });
  await end(id);
  const { items } = await get(w, "/inbox");
  assert.equal(items.length, 1, "no other message says so");
  return items[0];
}

const asks = async (w: World) => (await get(w, "/asks")).asks.length;

Deno.test("the item of an ended choice shows how it ended, and counts as read", async () => {
  // deno-fmt-ignore
  const endings: [outcome: string, responder: string | null, end: (w: World, id: string) => Promise<unknown>][] = [
    ["cancelled", "ada", (w, id) => post(w, `/asks/${id}/cancel`, { peer_id: "ada" })],
    ["answered",  "sam", (w, correlation_id) => post(w, "/answer", { correlation_id, option_id: "deny" })],
    ["declined",  "sam", (w, correlation_id) => post(w, "/decline", { correlation_id, reason: "No" })],
  ];
  for (const [outcome, responder, end] of endings) {
    await using w = withHuman();
    const item = await endedItem(w, (id) => end(w, id));
    assert.deepEqual([item.state, item.outcome, item.responder, item.read], [
      "closed",
      outcome,
      responder,
      true,
    ]);
    assert.equal(item.option_id, outcome === "answered" ? "deny" : null);
    assert.ok(item.closed_at);
    assert.deepEqual((await get(w, "/inbox?unread=1")).items, []);
    assert.equal(eventData(w, "inbox_updated").length, 1);
  }
});

Deno.test("an option for an ended question is refused with its outcome, and opens no ask [c11.over.option]", async () => {
  await using w = withHuman();
  const cancel = (id: string) => post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  const { item_id, correlation_id } = await endedItem(w, cancel);
  const surface = { surface: "phone" };
  for (
    const [path, body] of [
      [`/inbox/${item_id}/reply`, { option_id: "allow" }],
      [`/inbox/${item_id}/reply`, { option_id: "allow", text: "allow", as_new_ask: true }],
      [`/inbox/${item_id}/reply`, { text: "allow" }],
      [`/inbox/${item_id}/reply`, { text: "allow", ...surface, as_new_ask: false }],
      ["/answer", { correlation_id, option_id: "allow" }],
      ["/ack", { correlation_id, message: "allow" }],
      ["/ack", { correlation_id, option_id: "allow" }],
      ["/ack", { correlation_id, option_id: "no such option", from_peer: "sam" }],
      ["/answer", { correlation_id, option_id: "no such option", from_peer: "sam" }],
    ] as const
  ) {
    const refused = await post(w, path, body);
    assert.partialDeepStrictEqual(refused, {
      status: 410,
      error: "already_closed",
      correlation_id,
      outcome: "cancelled",
    });
  }
  assert.equal(await asks(w), 1);
  assert.equal((await post(w, `/inbox/${item_id}/reply`, {})).action, "read");
});

/** A request that answers or ends an ask, by the id of its route. */
const ENDING = {
  "asks.ack": (id: string) => ["/ack", { correlation_id: id, option_id: "b" }],
  "asks.decline": (id: string) => ["/decline", { correlation_id: id, reason: "No" }],
  "asks.cancel": (id: string) => [`/asks/${id}/cancel`, { peer_id: "ada" }],
  "asks.answer": (id: string) => ["/answer", { correlation_id: id, option_id: "b" }],
  "asks.reply_all": (id: string) => [`/asks/${id}/reply-all`, { text: "b", option_id: "b" }],
  "inbox.reply": (_id: string, item: string) => [`/inbox/${item}/reply`, { option_id: "b" }],
  "inbox.reply_by_ref": () => ["/inbox/reply", { ...REF, option_id: "b" }],
} satisfies Record<string, (id: string, item: string) => [path: string, body: object]>;
const REF = { surface: "phone", surface_ref: "71" };

Deno.test("every route that ends an ask refuses an option for a closed one, with its outcome [c11.over.option]", async () => {
  await using w = withHuman();
  const phone = await connectPeer(w, "phone", { capabilities: ["inbox_surface"] });
  const item = await endedItem(w, () => Promise.resolve());
  const { correlation_id, item_id } = item;
  const [frame] = phone.of("inbox_item");
  const receipt = { delivery_id: frame?.delivery_id, status: "pushed", surface_ref: "71" };
  await phone.send({ type: "delivery_ack", ...receipt });
  const ids = w.daemon.routes.map(({ contract }) => contract)
    .filter(({ fails }) => fails?.includes("already_closed")).map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), Object.keys(ENDING).toSorted(), "all of them are tried here");
  await post(w, "/answer", { correlation_id, option_id: "allow" });
  const closed = { error: "already_closed", correlation_id, outcome: "answered" };
  for (const [route, requestOf] of Object.entries(ENDING)) {
    const [path, body] = requestOf(correlation_id, item_id);
    assert.partialDeepStrictEqual(await post(w, path, body), { status: 410, ...closed }, route);
  }
  assert.equal((await get(w, `/asks/${correlation_id}`)).answer.option_id, "allow");
});

Deno.test("every frame that ends an ask refuses an option for a closed one, with its outcome [c11.over.option]", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob", "Which?", { question: CHOICE });
  await post(w, "/answer", { correlation_id, option_id: "allow" });
  for (const [at, type] of ["ack", "answer", "decline"].entries()) {
    const chosen = { correlation_id, option_id: "deny", reason: "No" };
    await bob.send({ type, request_id: String(at), ...chosen });
    assert.partialDeepStrictEqual(bob.of("result").at(-1), {
      request_id: String(at),
      error: "already_closed",
      outcome: "answered",
    });
  }
});

Deno.test("an ack with an option answers an open choice, and a wrong option leaves it open", async () => {
  await using w = withHuman();
  const { correlation_id } = await endedItem(w, () => Promise.resolve());
  const refused = await post(w, "/ack", { correlation_id, option_id: "perhaps" });
  assert.deepEqual([refused.status, refused.error], [422, "unknown_option"]);
  await post(w, "/ack", { correlation_id, option_id: "deny" });
  const { state, outcome, answer } = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([state, outcome, answer.option_id], ["closed", "answered", "deny"]);
});

Deno.test("a text to an ended question opens an ask only once the person has confirmed it [c11.over.text]", async () => {
  await using w = withHuman();
  const cancel = (id: string) => post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  const { item_id, correlation_id } = await endedItem(w, cancel);
  const path = `/inbox/${item_id}/reply`;
  assert.equal((await post(w, path, { text: "Use the trash" })).status, 410);
  const sent = await post(w, path, { text: "Use the trash", as_new_ask: true });
  assert.equal(sent.action, "asked");
  const opened = await get(w, `/asks/${sent.correlation_id}`);
  assert.deepEqual([opened.text, opened.reply_to], ["Use the trash", correlation_id]);
});

Deno.test("a text to a plain ask that is closed opens a new one, as before", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", "sam");
  await post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  const { items } = await get(w, "/inbox?unread=1");
  const item = items.find(({ kind }: { kind: string }) => kind === "ask");
  assert.deepEqual([item.state, item.outcome], ["closed", "cancelled"]);
  assert.equal((await post(w, `/inbox/${item.item_id}/reply`, { text: "Why?" })).action, "asked");
});

Deno.test("a blocking question says when it expires, in every record and event [c11.blocking.expiry]", async () => {
  await using w = withHuman();
  const phone = await connectPeer(w, "phone", { capabilities: ["inbox_surface"] });
  await startAskBlocking(w, { timeout_seconds: 30 });
  const { created_at, expires_at } = await get(w, "/asks/toolu_01");
  assert.equal(Date.parse(expires_at) - Date.parse(created_at), 30_000);
  const { items: [item] } = await get(w, "/inbox");
  assert.equal(item.expires_at, expires_at);
  const { item: pushed } = phone.of("inbox_item")[0] as { item: { expires_at: string } };
  assert.equal(pushed.expires_at, expires_at);
  for (const type of ["ask", "question", "inbox_item"]) {
    assert.deepEqual(eventData(w, type).map((data) => data["expires_at"]), [expires_at], type);
  }
  const { asks: [listed] } = await get(w, "/asks?state=open");
  assert.equal(listed.expires_at, expires_at);
});

Deno.test("a question that waits beyond the last instant expires at that instant", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const question = { ...CHOICE, blocking: true, timeout_seconds: 1e300 };
  const id = await ask(w, "ada", "sam", "Which?", { question });
  assert.equal((await get(w, `/asks/${id}`)).expires_at, "9999-12-31T23:59:59.999Z");
  assert.equal((await get(w, "/inbox")).items[0].expires_at, "9999-12-31T23:59:59.999Z");
});

Deno.test("surfaces get the end of an item at once, or when they connect again", async () => {
  await using w = withHuman();
  const capabilities = ["inbox_surface"];
  const phone = await connectPeer(w, "phone", { capabilities });
  const show = async (id: string) => {
    await startAskBlocking(w, { ...DECISION, correlation_id: id, timeout_seconds: 5 });
    const { delivery_id } = phone.of("inbox_item").at(-1) as { delivery_id: string };
    const receipt = { delivery_id, status: "pushed", surface_ref: id.slice(-1) };
    await phone.send({ type: "delivery_ack", ...receipt });
  };
  const updates = (client: typeof phone) =>
    client.of("inbox_update").map((frame) => {
      const { item } = frame as { item: Record<string, unknown> };
      return [item["correlation_id"], item["state"], item["outcome"]];
    });
  await show("toolu_1");
  await w.clock.advance(6_000);
  assert.deepEqual(updates(phone), [["toolu_1", "closed", "timed_out"]]);
  await w.clock.advance(600_000);
  await show("toolu_2");
  await phone.drop();
  await w.clock.advance(6_000);
  const again = await connectPeer(w, "phone", { capabilities });
  assert.deepEqual(updates(again), [["toolu_2", "closed", "timed_out"]]);
});
