/** Turns that hooks and clients report: published without text, and proof of the ids in it. */

import assert from "node:assert/strict";
import { reportChat } from "../../../../daemon/features/peers/contract.ts";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";

Deno.test("a turn is published with its role and id, and never with its text", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const turn = { peer_id, text: "a secret", turn_id: "t-1", tool_calls: [{ name: "ls" }] };
  assert.deepEqual(await w.call(reportChat, { body: { ...turn, role: "assistant" } }), {
    ok: true,
  });
  assert.deepEqual(eventData(w, "chat_turn"), [{ peer_id, role: "assistant", turn_id: "t-1" }]);
  assert.ok(!JSON.stringify(w.events).includes("secret"));
});

Deno.test("a user's turn that holds a message's id proves that message seen", async () => {
  await using w = world();
  const api = await connectPeer(w, "api");
  const { delivery_id } = await notify(w, "cli", "api");
  await api.send({ type: "chat_turn", role: "user", text: `[mesh ${delivery_id}] Done` });
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.equal(stages.at(-1).stage, "seen");
  assert.equal(eventData(w, "chat_turn").length, 1);
});

Deno.test("a turn of an unknown or retired peer is refused", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const turn = { role: "user", text: "Hello" };
  assert.equal((await post(w, "/events/chat", { ...turn, peer_id: "nobody" })).status, 404);
  assert.equal((await post(w, "/events/chat", { ...turn, peer_id, role: "tool" })).status, 422);
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  assert.equal((await post(w, "/events/chat", { ...turn, peer_id })).status, 409);
  assert.equal(eventData(w, "chat_turn").length, 0);
});
