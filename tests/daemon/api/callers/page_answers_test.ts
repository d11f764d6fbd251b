/** Answers as the human: from pages with and without a ticket, surfaces, and other programs. */

import assert from "node:assert/strict";
import { FakeSockets, type World, world } from "../../../support/world.ts";
import { addPeer, ask, get, post, signIn } from "../../../support/daemon/peer_clients.ts";

const NAVIGATION = {
  "sec-fetch-site": "none",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
const SAME_ORIGIN = { "sec-fetch-site": "same-origin" };
const ALLOW = { id: "allow", title: "Allow" };

async function withBob(sockets = new FakeSockets()): Promise<World> {
  const w = world({ sockets, settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  return w;
}

/** The headers of a page that was opened without a ticket. */
async function openPage(w: World): Promise<Record<string, string>> {
  const answer = await w.fetch("/dashboard", { headers: NAVIGATION });
  await answer.body?.cancel();
  return { ...SAME_ORIGIN, cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

/** Asks the human, replies to the item; returns the kind of author that bob sees. */
async function voiceOfReply(w: World, headers: Record<string, string>, surface?: string) {
  const correlation_id = await ask(w, "bob", "sam");
  const { items } = await get(w, "/inbox?unread=true");
  const reply = { text: "Yes", ...(surface !== undefined && { surface }) };
  const { action } = await post(w, `/inbox/${items[0].item_id}/reply`, reply, headers);
  assert.equal(action, "acked");
  return (await get(w, `/asks/${correlation_id}`)).reply_voice;
}

/** Asks for a permission; returns the question's ids, and the verdict once there is one. */
async function requestPermission(w: World) {
  const prompt = { prompt: "Run it?", options: [ALLOW], scope: "tool_permission" };
  const verdict = post(w, "/questions/ask-blocking", { ...prompt, from_peer: "bob" });
  await w.clock.settle();
  const { items } = await get(w, "/inbox?unread=true");
  const { item_id, correlation_id } = items[0];
  return { item_id, correlation_id, verdict };
}

Deno.test("a reply of a page counts as the human's only if the page came by a ticket", async () => {
  await using w = await withBob();
  const page = await openPage(w);
  const own = await signIn(w);
  for (const surface of [undefined, "dashboard", "telegram", "cli"]) {
    assert.equal(await voiceOfReply(w, page, surface), "unverified", surface);
    assert.equal(await voiceOfReply(w, SAME_ORIGIN, surface), "unverified", surface);
    assert.equal(await voiceOfReply(w, own, surface), "human", surface);
  }
});

Deno.test("a program's reply through a surface is the human's, but not through the pages'", async () => {
  await using w = await withBob();
  for (const surface of [undefined, "cli", "telegram"]) {
    assert.equal(await voiceOfReply(w, {}, surface), "human", surface);
  }
  assert.equal(await voiceOfReply(w, {}, "dashboard"), "unverified");
});

Deno.test("an ask that a page without a ticket opens by a reply is unverified", async () => {
  await using w = await withBob();
  const page = await openPage(w);
  const { inbox_item_id } = await post(w, "/notify", {
    from_peer: "bob",
    to_peer: "sam",
    text: "Done",
  });
  const { correlation_id } = await post(w, `/inbox/${inbox_item_id}/reply`, { text: "Why?" }, page);
  assert.equal(w.daemon.delivery.findMessage(correlation_id)?.voice, "unverified");
});

Deno.test("a page without a ticket cannot allow a tool, by any route", async () => {
  await using w = await withBob();
  const page = await openPage(w);
  const { item_id, correlation_id, verdict } = await requestPermission(w);
  for (
    const [path, body] of [
      ["/answer", { correlation_id, option_id: "allow" }],
      ["/answer", { correlation_id, option_id: "allow", from_peer: "sam" }],
      ["/ack", { correlation_id, message: "allow" }],
      [`/inbox/${item_id}/reply`, { option_id: "allow", surface: "dashboard" }],
      [`/inbox/${item_id}/reply`, { text: "allow", surface: "telegram" }],
      [`/inbox/${item_id}/reply`, { text: "allow" }],
    ] as const
  ) {
    for (const headers of [page, SAME_ORIGIN]) {
      const refused = await post(w, path, body, headers);
      assert.deepEqual([refused.status, refused.error], [403, "human_not_proven"], path);
      assert.match(refused.hint, /mesh open/);
    }
  }
  assert.equal((await get(w, `/asks/${correlation_id}`)).state, "open");
  const reply = { option_id: "allow", surface: "dashboard" };
  await post(w, `/inbox/${item_id}/reply`, reply, await signIn(w));
  assert.partialDeepStrictEqual(await verdict, { outcome: "answered", option_id: "allow" });
});

Deno.test("where the kernel names no owner of a socket, a ticket still makes a page the human's", async () => {
  const sockets = new FakeSockets();
  sockets.canIdentify = false;
  sockets.holders = [];
  await using w = await withBob(sockets);
  assert.equal(await voiceOfReply(w, await signIn(w), "dashboard"), "human");
});

Deno.test("where no terminal can be proved, the token gets a ticket, and nothing else does", async () => {
  const sockets = new FakeSockets();
  sockets.canIdentify = false;
  sockets.holders = [];
  const token = "a token of 16 letters";
  const settings = { "human.name": "sam", "daemon.auth_token": token };
  await using w = world({ sockets, settings });
  const bearer = { authorization: `Bearer ${token}` };
  assert.equal((await post(w, "/dashboard/tickets", {}, bearer)).status, 200);
  assert.equal((await post(w, "/dashboard/tickets", {}, SAME_ORIGIN)).status, 401);
  await using open = world({ sockets, settings: { "human.name": "sam" } });
  assert.equal((await post(open, "/dashboard/tickets")).error, "human_not_proven");
  sockets.canIdentify = true;
  assert.equal((await post(w, "/dashboard/tickets", {}, bearer)).error, "human_not_proven");
});
