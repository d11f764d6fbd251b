/** An answer through a surface on `/ws` is the human's, unless an agent's process holds the socket. */

import assert from "node:assert/strict";
import { ALLOW_OR_DENY } from "../../../support/daemon/blocking_questions.ts";
import { ask, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakeSockets, world } from "../../../support/world.ts";

const CHOICE = { kind: "choice", options: ALLOW_OR_DENY };
const AGENT = 7, SHELL = 71, SURFACE = 90;

/** A world in which an agent has asked the human, and these processes hold the next socket. */
async function worldWithAsk(holders: readonly number[]) {
  const sockets = new FakeSockets();
  const w = world({ sockets, settings: { "human.name": "sam" } });
  w.processes.start(AGENT);
  w.processes.start(SHELL, AGENT);
  sockets.holders = [AGENT];
  const ada = await connectPeer(w, "ada", { agent_pid: AGENT, capabilities: ["framed_text"] });
  const correlation_id = await ask(w, "ada", "sam", "Which?", { question: CHOICE });
  sockets.holders = holders;
  return { w, ada, correlation_id, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

for (
  const [who, holders, voice] of [
    ["a surface's program", [SURFACE], "human"],
    ["an agent", [AGENT], "unverified"],
    ["a program in an agent's shell", [SHELL, AGENT], "unverified"],
  ] as const
) {
  Deno.test(`the voice of what ${who} answers as a surface is ${voice} [c11.speak.another]`, async () => {
    await using at = await worldWithAsk(holders);
    const { w, ada, correlation_id } = at;
    const phone = await connectPeer(w, "phone", { capabilities: ["inbox_surface"] });
    await phone.send({ type: "answer", request_id: "1", correlation_id, option_id: "deny" });
    assert.partialDeepStrictEqual(phone.of("result")[0], { ok: true, outcome: "answered" });
    const closed = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([closed.responder, closed.reply_voice], ["sam", voice]);
    const [frame] = ada.of("ack");
    assert.equal(frame?.voice, voice);
    assert.equal(/unverified="true"/.test(String(frame?.framed)), voice === "unverified");
    const second = await ask(w, "web", "sam");
    const { items } = await get(w, "/inbox");
    const item = items.find((each: { correlation_id: string }) => each.correlation_id === second);
    await post(w, `/inbox/${item.item_id}/reply`, { text: "Yes", surface: "phone" });
    assert.equal((await get(w, `/asks/${second}`)).reply_voice, voice, "by the inbox");
  });
}

Deno.test("messages as the human from a bridge without the capability are unverified", async () => {
  await using at = await worldWithAsk([SURFACE]);
  const { w, correlation_id } = at;
  const bridge = await connectPeer(w, "telegram");
  await bridge.send({ type: "answer", request_id: "1", correlation_id, option_id: "deny" });
  assert.equal((await get(w, `/asks/${correlation_id}`)).reply_voice, "unverified");
});
