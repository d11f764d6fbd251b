/** Turns that hooks and clients report: published without text, and proof of the ids in it. */

import assert from "node:assert/strict";
import { closePeer, listTurns, reportChat, reportTurn } from "protocol/peers/contract.ts";
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

Deno.test("the latest prompts and final messages of an agent are listed, oldest first", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const params = { id: peer_id };
  await w.call(reportTurn, { params, query: {}, body: { turn_state: "working", prompt: "Go on" } });
  const tool_calls = [{ name: "ls" }];
  await w.call(reportChat, { body: { peer_id, role: "assistant", text: "Done", tool_calls } });
  const { turns } = await w.call(listTurns, { params, query: {} });
  const at = turns[0]?.at;
  assert.deepEqual(turns, [
    { role: "user", text: "Go on", truncated: false, tool_calls: [], at },
    { role: "assistant", text: "Done", truncated: false, tool_calls, at },
  ]);
});

Deno.test("the last 20 turns of an agent are kept, each with at most 4,000 characters", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  for (let turn = 1; turn <= 21; turn++) {
    const text = `${turn} ${"x".repeat(5000)}`;
    await w.call(reportChat, { body: { peer_id, role: "user", text } });
  }
  const { turns } = await w.call(listTurns, { params: { id: peer_id }, query: {} });
  assert.equal(turns.length, 20);
  assert.ok(turns[0]?.text.startsWith("2 "));
  assert.ok(turns.every(({ text, truncated }) => text.length === 4000 && truncated));
});

Deno.test("the turns of the 200 agents that reported last are kept", async () => {
  await using w = world();
  const agents = [];
  for (let n = 0; n <= 200; n++) agents.push(await addPeer(w, `api-${n}`));
  for (const { peer_id } of agents) {
    await w.call(reportChat, { body: { peer_id, role: "user", text: "Hello" } });
  }
  const counts = await Promise.all(agents.map(async ({ peer_id }) => {
    const { turns } = await w.call(listTurns, { params: { id: peer_id }, query: {} });
    return turns.length;
  }));
  assert.deepEqual(counts, [0, ...Array(200).fill(1)]);
});

Deno.test("the turns of a peer that was closed are listed by its id, and not by its name", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  await w.call(reportChat, { body: { peer_id, role: "user", text: "Hello" } });
  await w.call(closePeer, { params: { id: peer_id }, query: {} });
  const { turns } = await w.call(listTurns, { params: { id: peer_id }, query: {} });
  assert.deepEqual(turns.map(({ text }) => text), ["Hello"]);
  assert.equal((await get(w, "/peers/api/turns")).status, 404);
});
