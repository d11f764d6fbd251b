/** Urgent messages that a hook hands over between two tool calls: when, once, and with proof. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { setPeer } from "protocol/peers/groups.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { MESSAGES_MAX } from "../../../../daemon/features/hooks/unproved_messages.ts";
import { HOLD_MS_MAX } from "../../../../daemon/features/messages/urgent_messages.ts";
import { AgentAtWork } from "../../../support/agents/agent_at_work.ts";
import { get, notify, post, signIn } from "../../../support/daemon/peer_clients.ts";

const URGENT = { urgent: true };

Deno.test("an urgent message to an agent at work is handed over after its next tool call", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id, delivery_state } = await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.w.clock.settle();
  assert.equal(delivery_state, "queued");
  const { reason } = await get(agent.w, `/messages/${delivery_id}`);
  assert.equal(reason, "native: tool_call_awaited");
  const read = await agent.toolCall();
  assert.match(
    read,
    /^\[mesh\] <peer-message type="notify" .* urgent="true">Stop<\/peer-message>$/,
  );
  assert.deepEqual(agent.queued, []);
});

Deno.test("a message that is not urgent goes to the queue that the agent reads after its turn", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Later");
  await agent.w.clock.settle();
  assert.equal(agent.queued.length, 1);
  assert.equal(await agent.toolCall(), "");
});

Deno.test("an urgent message that waits for a tool call holds up its own sender's messages only", async () => {
  await using agent = await new AgentAtWork().start();
  const held = await notify(agent.w, "ada", agent.name, "Now", URGENT);
  await notify(agent.w, "ada", agent.name, "After that");
  await notify(agent.w, "bob", agent.name, "First of Bob");
  await notify(agent.w, "eve", agent.name, "Now, too", URGENT);
  await notify(agent.w, "bob", agent.name, "Second of Bob");
  await agent.w.clock.settle();
  assert.deepEqual(agent.queued.map((text) => />(.*)</.exec(text)?.[1]), [
    ...["First of Bob", "Second of Bob"],
  ]);
  const { reason } = await get(agent.w, `/messages/${held.delivery_id}`);
  assert.equal(reason, "native: tool_call_awaited");
  await agent.stop();
  assert.equal(agent.queued.length, 5);
});

Deno.test("an agent whose hooks hand it no messages gets an urgent one through its queue", async () => {
  await using agent = await new AgentAtWork().start();
  const body = { hook_messages: false };
  await agent.w.call(setPeer, { params: { id: agent.name }, query: {}, body });
  await notify(agent.w, "ada", agent.name, "Now", URGENT);
  await agent.w.clock.settle();
  assert.deepEqual([agent.queued.length, agent.markers], [1, []]);
  assert.equal(await agent.toolCall(), "");
});

Deno.test("an urgent message to an agent that is idle goes to its queue", async () => {
  await using agent = await new AgentAtWork().start();
  await agent.stop();
  await notify(agent.w, "ada", agent.name, "Now", URGENT);
  await agent.w.clock.settle();
  assert.equal(agent.queued.length, 1);
  assert.deepEqual(agent.markers, []);
});

Deno.test("the answer to a sender leaves before its message is attempted", async () => {
  await using agent = await new AgentAtWork().start();
  await agent.stop();
  const body = { from_peer: "ada", to_peer: agent.name, text: "Now", bypass_circle: true };
  await agent.w.post("/notify", body);
  assert.equal(agent.checks, 0);
  await agent.w.clock.settle();
  assert.deepEqual([agent.checks, agent.queued.length], [1, 1]);
});

Deno.test("a message of the human is urgent, unless it says otherwise", async () => {
  await using agent = await new AgentAtWork({ settings: { "human.name": "sam" } }).start();
  const headers = await signIn(agent.w);
  const send = (text: string, more = {}) => {
    const body = { from_peer: "sam", to_peer: agent.name, text, bypass_circle: true, ...more };
    return agent.w.call(notifyPeer, { body, headers });
  };
  await send("Wait for me", { urgent: false });
  await agent.w.clock.settle();
  assert.equal(agent.queued.length, 1);
  await send("Stop");
  await agent.w.clock.settle();
  assert.equal(agent.queued.length, 1);
  assert.match(await agent.toolCall(), /^\[mesh\] @sam → @\S+: Stop$/m);
});

Deno.test("an urgent message goes to the queue when the turn ends without another tool call", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Now", URGENT);
  await agent.stop();
  assert.equal(agent.queued.length, 1);
  assert.deepEqual(agent.markers, []);
});

Deno.test("an urgent message waits for a tool call for five minutes, and then goes to the queue", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Now", URGENT);
  await agent.w.clock.advance(HOLD_MS_MAX - 2000);
  await agent.w.tick();
  assert.deepEqual(agent.queued, []);
  await agent.w.tick();
  assert.equal(agent.queued.length, 1);
});

Deno.test("a handed over message is sent, and seen once the model has answered", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.toolCall();
  assert.equal(await agent.state(delivery_id), "sent");
  await agent.toolCall(); // Of the same answer of the model.
  await agent.modelAnswer("failed");
  assert.equal(await agent.state(delivery_id), "sent");
  await agent.modelAnswer();
  assert.equal(await agent.state(delivery_id), "seen");
  const { transport, attempts } = (await get(agent.w, "/deliveries?state=seen")).deliveries[0];
  assert.deepEqual({ transport, attempts }, { transport: "hook", attempts: 1 });
});

Deno.test("the end of the turn proves a handed over message", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.toolCall();
  await agent.stop();
  assert.equal(await agent.state(delivery_id), "seen");
  assert.deepEqual(agent.queued, []);
});

Deno.test("an interrupted turn proves nothing, and its message is not sent again", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.toolCall();
  await agent.hook("Interrupt", {});
  await agent.w.tick();
  assert.equal(await agent.state(delivery_id), "sent");
  assert.deepEqual(agent.queued, []);
});

Deno.test("a message that was handed over comes neither with the next tool call nor by the queue", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  assert.notEqual(await agent.toolCall(), "");
  assert.equal(await agent.toolCall(), "");
  await agent.stop();
  assert.equal(await agent.prompt(), "");
  await agent.w.tick(60);
  assert.deepEqual(agent.queued, []);
});

Deno.test("two tool calls that end at once do not both get a message", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  const answers = await Promise.all([agent.toolCall(), agent.toolCall(), agent.toolCall()]);
  assert.equal(answers.filter((text) => text !== "").length, 1);
});

Deno.test("a daemon that dies before the answer arrives sends the message no second time", async () => {
  const dir = Deno.makeTempDirSync();
  const db_path = join(dir, "mesh.db");
  let delivery_id: string;
  {
    await using agent = await new AgentAtWork({ db_path }).start();
    ({ delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT));
    await agent.toolCall(); // Nobody reads the answer.
  }
  {
    await using agent = await new AgentAtWork({ db_path }).start();
    assert.equal(await agent.toolCall(), "");
    await agent.stop();
    assert.equal(await agent.state(delivery_id), "sent");
    await agent.w.tick(60);
    // The next prompt names the message, as every message without a proof, and does not repeat it.
    assert.match(
      await agent.prompt(),
      new RegExp(`may not have reached you: mesh show ${delivery_id}`),
    );
    assert.deepEqual(agent.queued, []);
  }
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("a daemon that dies within a hand-over counts the message as sent", async () => {
  const dir = Deno.makeTempDirSync();
  const db_path = join(dir, "mesh.db");
  let delivery_id: string;
  {
    await using agent = await new AgentAtWork({ db_path }).start();
    ({ delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT));
    const { daemon } = agent.w;
    const message = daemon.delivery.findMessage(delivery_id);
    assert.ok(message);
    daemon.ctx.db.transactNow(() => void daemon.steps.attempted(message, "hook", false));
  }
  {
    await using agent = await new AgentAtWork({ db_path }).start();
    assert.equal(await agent.state(delivery_id), "sent");
    assert.equal(await agent.toolCall(), "");
    await agent.stop();
    assert.deepEqual(agent.queued, []);
  }
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("an urgent message takes along what its sender sent before it, and nothing else", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "First", URGENT);
  await notify(agent.w, "eve", agent.name, "Unrelated");
  await notify(agent.w, "ada", agent.name, "Second");
  await notify(agent.w, "ada", agent.name, "Third", URGENT);
  await notify(agent.w, "ada", agent.name, "Last");
  const read = await agent.toolCall();
  assert.deepEqual(read.match(/(?<=>)\w+(?=<\/peer)/g), ["First", "Second", "Third"]);
});

Deno.test("one tool call hands over five messages at most, and the next one the rest", async () => {
  await using agent = await new AgentAtWork().start();
  for (let n = 1; n <= 7; n++) await notify(agent.w, "ada", agent.name, `Part ${n}`, URGENT);
  const counts = [await agent.toolCall(), await agent.toolCall(), await agent.toolCall()]
    .map((text) => text.match(/<peer-message/g)?.length ?? 0);
  assert.deepEqual(counts, [5, 2, 0]);
});

Deno.test("one tool call hands over 8 kB at most, and cuts a longer message", async () => {
  await using agent = await new AgentAtWork().start();
  for (const name of ["ada", "eve"]) {
    await notify(agent.w, name, agent.name, "long ".repeat(3000), URGENT);
  }
  for (const name of ["ada", "eve"]) {
    const read = await agent.toolCall();
    assert.match(read, new RegExp(`from="@${name}"`));
    assert.match(read, /\[mesh\] cut here; the whole text: mesh show notif-/);
    assert.ok(new TextEncoder().encode(read).length <= 8192);
  }
});

Deno.test("a marker exists from an urgent message on until the model has read it", async () => {
  await using agent = await new AgentAtWork().start();
  assert.deepEqual(agent.markers, []);
  await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.w.clock.settle();
  assert.deepEqual(agent.markers, ["codex"]);
  await agent.toolCall(); // The hook after the answer proves it, and needs the marker, too.
  assert.deepEqual(agent.markers, ["codex"]);
  await agent.modelAnswer();
  assert.deepEqual(agent.markers, []);
});

Deno.test("a marker that a hook has removed is made again within a second", async () => {
  await using agent = await new AgentAtWork().start();
  const before = agent.restored;
  await agent.w.tick();
  assert.equal(agent.restored, before + 1);
});

Deno.test("a marker goes with the message, or with the end of its session", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.toolCall();
  assert.deepEqual(agent.markers, ["codex"]);
  await agent.hook("SessionEnd", { reason: "other" });
  assert.deepEqual(agent.markers, []);
});

Deno.test("a marker is not kept for longer than ten minutes for a proof", async () => {
  await using agent = await new AgentAtWork().start();
  await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  await agent.toolCall();
  await agent.w.tick(599);
  assert.deepEqual(agent.markers, ["codex"]);
  await agent.w.tick();
  assert.deepEqual(agent.markers, []);
});

Deno.test("a subagent is handed nothing, and proves nothing", async () => {
  await using agent = await new AgentAtWork().start();
  const { delivery_id } = await notify(agent.w, "ada", agent.name, "Stop", URGENT);
  assert.equal(await agent.toolCall({ agent_id: "sub-1" }), "");
  assert.notEqual(await agent.toolCall(), "");
  await agent.hook("PostModelRequest", { status: "completed", agent_id: "sub-1" });
  assert.equal(await agent.state(delivery_id), "sent");
});

Deno.test("a tool call of an unknown session registers no peer", async () => {
  await using agent = await new AgentAtWork().start();
  const event = { session_id: "s-2", cwd: "/work/web", hook_event_name: "PostToolUse" };
  const { status } = await post(agent.w, "/hooks/codex", event);
  assert.equal(status, 200);
  const { peers } = await get(agent.w, "/peers");
  assert.equal(peers.length, 1);
});

Deno.test("at most 200 messages of a session wait for a proof; older messages stay unproved", async () => {
  await using agent = await new AgentAtWork({
    settings: { "daemon.limits.pair_per_minute": "0" },
  }).start();
  const ids: string[] = [];
  for (let n = 0; n < MESSAGES_MAX + 1; n++) {
    ids.push((await notify(agent.w, "ada", agent.name, `Part ${n}`, URGENT)).delivery_id);
  }
  while (await agent.toolCall() !== "");
  await agent.modelAnswer();
  const states = await Promise.all(ids.map((id) => agent.state(id)));
  assert.equal(states[0], "sent");
  assert.deepEqual([...new Set(states.slice(1))], ["seen"]);
});
