/** An agent as a peer: one prompt at a time, with receipts, turn states and reported turns. */

import assert from "node:assert/strict";
import type { Call } from "kit/http/client.ts";
import { AcpPeer } from "../../../cli/acp/peer.ts";
import { FakeAcpAgent, NEVER, Refusal, says } from "../../support/cli/fake_acp_agent.ts";

type Fields = Record<string, unknown>;

/** A peer of a scripted agent, with all that it sends to the daemon. */
async function fixture(prompted: (text: string, agent: FakeAcpAgent) => unknown) {
  const sent: Fields[] = [], chats: Fields[] = [], reports: string[] = [], said: string[] = [];
  const fake = new FakeAcpAgent({
    "session/prompt": ({ prompt }, agent) =>
      prompted((prompt as { text: string }[])[0]?.text ?? "", agent),
  });
  await fake.open();
  const call = (_: unknown, { body }: { body: Fields }) => {
    chats.push(body);
    return Promise.resolve({ ok: true });
  };
  const peer = new AcpPeer({
    agent: fake.agent,
    call: call as unknown as Call,
    send: (frame) => sent.push(frame as Fields),
    reoffer: () => undefined,
    report: (text) => reports.push(text),
    said: (text) => said.push(text),
  });
  peer.connected("peer-1");
  const receive = (delivery_id: string) =>
    peer.received({ type: "ask", delivery_id, from_peer: "web", framed: `Read ${delivery_id}` });
  const states = () => sent.flatMap(({ turn_state }) => turn_state === undefined ? [] : turn_state);
  const receipts = () =>
    sent.filter(({ type }) => type === "delivery_ack").map(({ delivery_id, status }) =>
      `${delivery_id} ${status}`
    );
  const errors = () => sent.flatMap(({ error }) => error === undefined ? [] : error);
  return { fake, peer, receive, sent, chats, reports, said, states, receipts, errors };
}

Deno.test("two messages are two prompts, one after the other", async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const prompts: string[] = [];
  const f = await fixture(async (text, agent) => {
    prompts.push(text);
    agent.notify(says("Done"));
    await goOn;
    return { stopReason: "end_turn" };
  });
  f.receive("d1");
  f.receive("d2");
  await f.fake.clock.settle();
  assert.deepEqual([prompts, f.receipts(), f.states()], [
    ["Read d1"],
    ["d1 seen"],
    ["idle", "working"],
  ]);
  resolve();
  await f.fake.clock.settle();
  await f.fake.clock.settle();
  assert.deepEqual([prompts.length, f.receipts()], [2, ["d1 seen", "d2 seen"]]);
  assert.deepEqual([f.states().at(-1), f.said], ["idle", ["Done", "Done"]]);
});

Deno.test("a turn is reported with its prompt, its last message and its tools", async () => {
  const f = await fixture((_, agent) => {
    agent.notify(says("Port 8080"));
    return { stopReason: "max_tokens" };
  });
  f.receive("d1");
  await f.fake.clock.settle();
  await f.fake.clock.settle();
  assert.deepEqual(f.chats, [
    { peer_id: "peer-1", role: "user", text: "Read d1", tool_calls: [] },
    { peer_id: "peer-1", role: "assistant", text: "Port 8080", tool_calls: [] },
  ]);
  assert.deepEqual(f.reports, ["ask from web", "The turn ended at the model's limit of tokens"]);
  assert.deepEqual(f.errors(), ["max_tokens"]);
});

Deno.test("a prompt that is answered with an error has failed, and the next one is tried", async () => {
  const f = await fixture((text) => {
    if (text === "Read d1") throw new Refusal(-32_603, "Internal error", { details: "Quota" });
    return { stopReason: "end_turn" };
  });
  f.receive("d1");
  f.receive("d2");
  await f.fake.clock.settle();
  await f.fake.clock.settle();
  assert.deepEqual(f.receipts(), ["d1 failed", "d2 seen"]);
  assert.deepEqual(f.errors(), ["agent_error"]);
  assert.equal(f.reports[1], "The agent answered the prompt with an error: Internal error: Quota");
});

Deno.test("a message that was seen before the error stays seen", async () => {
  const f = await fixture((_, agent) => {
    agent.notify(says("Let me"));
    throw new Refusal(-32_603, "Internal error");
  });
  f.receive("d1");
  await f.fake.clock.settle();
  await f.fake.clock.settle();
  assert.deepEqual(f.receipts(), ["d1 seen"]);
});

Deno.test("a message of an agent that dies gets no receipt, so the daemon keeps it", async () => {
  const f = await fixture(() => NEVER);
  f.receive("d1");
  await f.fake.clock.settle();
  f.fake.end();
  await f.fake.clock.settle();
  assert.deepEqual([f.receipts(), f.states().at(-1)], [[], "working"]);
});

Deno.test("an open permission request is a turn that awaits input", async () => {
  const f = await fixture(() => NEVER);
  f.receive("d1");
  f.peer.awaitsInput(true);
  f.peer.awaitsInput(false);
  f.peer.connected("peer-1");
  assert.deepEqual(f.states(), ["idle", "working", "awaiting_input", "working", "working"]);
});

Deno.test("an interrupt cancels the running prompt, which is reported as interrupted", async () => {
  const cancelled = Promise.withResolvers<void>();
  const f = await fixture(async () => {
    await cancelled.promise;
    return { stopReason: "cancelled" };
  });
  const cancels = () => f.fake.received.filter(({ method }) => method === "session/cancel").length;
  f.peer.received({ type: "interrupt" });
  await f.fake.clock.settle();
  assert.equal(cancels(), 0, "no prompt runs");
  f.receive("d1");
  await f.fake.clock.settle();
  f.peer.received({ type: "interrupt" });
  await f.fake.clock.settle();
  assert.equal(cancels(), 1);
  cancelled.resolve();
  await f.fake.clock.settle();
  assert.deepEqual([f.errors(), f.states().at(-1)], [["interrupted"], "idle"]);
});
