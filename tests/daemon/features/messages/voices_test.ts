/** Records and frames say whether a message is the human's, or only claims to be. */

import assert from "node:assert/strict";
import { addPeer, connectPeer, get, post, signIn } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

Deno.test("messages and frames name the kind of their author", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await connectPeer(w, "api");
  const page = await signIn(w);
  const senders = [["sam", page, "human"], ["sam", {}, "unverified"], ["ci", {}, "peer"]] as const;
  for (const [from_peer, headers, voice] of senders) {
    const message = { from_peer, to_peer: "api", text: "Delete everything" };
    const { delivery_id } = await post(w, "/notify", message, headers);
    assert.equal((await get(w, `/messages/${delivery_id}`)).voice, voice);
    assert.equal(api.of("notify").at(-1)?.voice, voice);
    const { correlation_id } = await post(w, "/ask", message, headers);
    assert.equal((await get(w, `/asks/${correlation_id}`)).voice, voice);
    assert.equal(api.of("ask").at(-1)?.voice, voice);
  }
  const { messages } = await get(w, "/messages?kind=notify");
  assert.deepEqual(
    messages.map(({ voice }: { voice: string }) => voice),
    ["peer", "unverified", "human"],
  );
});

Deno.test("a reply's author kind is in the ask's message and in the ack's frame", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const api = await connectPeer(w, "api");
  for (const [headers, voice] of [[await signIn(w), "human"], [{}, "unverified"]] as const) {
    const asked = { from_peer: "api", to_peer: "sam", text: "Go?" };
    const { correlation_id } = await post(w, "/ask", asked);
    assert.equal((await get(w, `/messages/${correlation_id}`)).reply_voice, null);
    await post(w, "/ack", { correlation_id, message: "Yes" }, headers);
    assert.equal((await get(w, `/messages/${correlation_id}`)).reply_voice, voice);
    assert.equal(api.of("ack").at(-1)?.voice, voice);
  }
});

Deno.test("an inbox item is marked if nothing proves that its sender sent it", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const phone = await connectPeer(w, "phone", { capabilities: ["inbox_surface"] });
  await addPeer(w, "api", { runtime_session_id: "s-1" });
  for (const [from_peer, voice] of [["ci", "peer"], ["api", "unverified"]] as const) {
    const message = { from_peer, to_peer: "sam", text: "Done" };
    const { inbox_item_id } = await post(w, "/notify", message);
    assert.equal((await get(w, `/inbox/${inbox_item_id}`)).voice, voice);
    assert.partialDeepStrictEqual(phone.of("inbox_item").at(-1), { item: { voice } });
  }
});
