import assert from "node:assert/strict";
import { ackAsk, openAsk, waitAsk } from "../../daemon/asks/contract.ts";
import { registerPeer } from "../../daemon/peers/contract.ts";
import { type World, world } from "../world.ts";

async function two(w: World) {
  const peer = (name: string) =>
    w.call(registerPeer, { body: { name, path: "/work", backend: "sdk" } });
  return { ada: await peer("ada"), bob: await peer("bob") };
}

Deno.test("an ask to a connected peer arrives as a frame, and its ack as the asker's", async () => {
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
  await bob.say({
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

Deno.test("wait answers the reply that comes first, and turns push into pull", async () => {
  await using w = world();
  const { ada } = await two(w);
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
