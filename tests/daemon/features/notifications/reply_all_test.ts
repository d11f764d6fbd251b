/** Replies to all: the asker gets the reply, and the others of the thread a notification. */

import assert from "node:assert/strict";
import { askMany } from "protocol/asks/many.ts";
import { replyAll } from "protocol/notifications.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, get, post } from "../../../support/daemon/peer_clients.ts";

async function reply(w: World, id: string, from_peer: string) {
  const body = { from_peer, text: "Port 8080" };
  const { close_reason, sent_to, failed } = await w.call(replyAll, { params: { id }, body });
  return { close_reason, sent_to: sent_to.map(({ name }) => name).sort(), failed };
}

Deno.test("a reply to all goes to the asker, and to all who asked or were asked in the thread", async () => {
  await using w = world();
  for (const name of ["ada", "bob", "cid", "dan", "eve"]) await addPeer(w, name);
  const first = await ask(w, "eve", "ada");
  const second = await ask(w, "ada", "bob", "Which port?", { reply_to: first });
  await ask(w, "ada", "cid", "Do you know?", { reply_to: second });
  await ask(w, "dan", "ada", "Another thread");
  assert.deepEqual(await reply(w, second, "bob"), {
    close_reason: "ack_with_msg",
    sent_to: ["cid", "eve"],
    failed: [],
  });
  assert.equal((await get(w, `/asks/${second}`)).reply, "Port 8080");
  const { deliveries } = await get(w, "/deliveries");
  const notified = deliveries.filter(({ kind }: { kind: string }) => kind === "notify");
  assert.equal(notified.length, 2);
});

Deno.test("the peers of one ask to many are in one thread", async () => {
  await using w = world();
  for (const name of ["ada", "bob", "cid", "dan"]) await addPeer(w, name);
  const body = { from_peer: "ada", to_peers: ["bob", "cid", "dan"], text: "Which port?" };
  const { children: [child] } = await w.call(askMany, { body });
  const id = child && "correlation_id" in child ? child.correlation_id : "";
  await w.post("/peers/dan/offline", { terminal: true });
  const { sent_to, failed } = await reply(w, id, "bob");
  assert.deepEqual(sent_to, ["cid"]);
  assert.deepEqual(failed.map(({ name, error }) => [name, error]), [["dan", "peer_retired"]]);
});

Deno.test("a refused reply to all notifies nobody", async () => {
  await using w = world();
  for (const name of ["ada", "bob", "cid"]) await addPeer(w, name);
  const first = await ask(w, "ada", "bob");
  await ask(w, "ada", "cid", "Do you know?", { reply_to: first });
  const path = `/asks/${first}/reply-all`;
  const stranger = await post(w, path, { from_peer: "cid", text: "Port 8080" });
  assert.equal(stranger.error, "not_the_recipient");
  assert.deepEqual((await reply(w, first, "bob")).sent_to, ["cid"]);
  const again = await post(w, path, { from_peer: "bob", text: "Port 8080" });
  assert.equal(again.error, "already_closed");
  const { deliveries } = await get(w, "/deliveries");
  const notified = deliveries.filter(({ kind }: { kind: string }) => kind === "notify");
  assert.equal(notified.length, 1);
});

Deno.test("a thread of more than a hundred others is refused, and the ask stays open", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  for (let at = 0; at < 101; at++) {
    await addPeer(w, `p${at}`);
    await ask(w, "ada", `p${at}`, "Do you know?", { reply_to: id });
  }
  const body = { from_peer: "bob", text: "Yes" };
  const refused = await post(w, `/asks/${id}/reply-all`, body);
  assert.equal(refused.error, "group_too_large");
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});
