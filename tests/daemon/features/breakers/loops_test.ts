/** Loops: what is found, what is not, and what happens then. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import { ackAsk } from "protocol/asks/contract.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import {
  type Call,
  callsIn,
  repeatedCalls,
  toCall,
} from "../../../../daemon/features/breakers/calls.ts";
import { Exchanges } from "../../../../daemon/features/breakers/exchanges.ts";
import { ask, connectPeer, eventData, notify } from "../../../support/daemon/peer_clients.ts";
import { API, prompt, usageWorld } from "../../../support/sessions/usage_world.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";

const call = (input: string, result: string, at: number): Call =>
  toCall("Bash", input, { result, at });

/** Calls of one input each, with results and times by their number. */
function calls(count: number, of: (number: number) => Call): Call[] {
  return Array.from({ length: count }, (_, number) => of(number));
}

Deno.test("the same call with the same result is a loop at the eighth time [4.loop.calls]", () => {
  const same = (number: number) => call("ls", "a", number * 1_000);
  assert.equal(repeatedCalls(calls(7, same)), undefined);
  assert.deepEqual(repeatedCalls(calls(8, same)), { times: 8, tools: ["Bash"], since: 0 });
  const cycle = (number: number) => call(["a", "b", "c"][number % 3] ?? "", "x", number * 1_000);
  assert.equal(repeatedCalls(calls(23, cycle)), undefined);
  assert.equal(repeatedCalls(calls(24, cycle))?.times, 8);
});

Deno.test("calls with other results, inputs or a slow pace are no loop [4.loop.polls]", () => {
  assert.equal(repeatedCalls(calls(90, (n) => call("gh run view", `step ${n}`, n))), undefined);
  assert.equal(repeatedCalls(calls(90, (n) => call(`sed -n ${n}p`, "", n))), undefined);
  const slow = (number: number) => call("sleep 60; gh run view", "pending", number * 60_000);
  assert.equal(repeatedCalls(calls(29, slow)), undefined);
  assert.equal(repeatedCalls(calls(30, slow))?.times, 30);
  assert.equal(repeatedCalls([]), undefined);
});

Deno.test("only finished calls since the last prompt count", () => {
  const entry = (kind: "prompt" | "tool_call" | "tool_result", call_id: string | null) => ({
    position: 1,
    at: 5,
    kind,
    text: kind,
    chars: 1,
    tool: kind === "tool_call" ? "Bash" : null,
    call: call_id,
    outcome: null,
  });
  const entries = [
    ...[entry("tool_call", "a"), entry("tool_result", "a"), entry("prompt", null)],
    ...[entry("tool_call", "b"), entry("tool_call", "c"), entry("tool_result", "b")],
  ];
  assert.deepEqual(callsIn(entries).map(({ tool, at }) => [tool, at]), [["Bash", 5]]);
});

/** Adds messages in turns between two peers; returns the number of the one that is a loop. */
function firstLoop(texts: readonly string[], gap_ms = 10_000): number | undefined {
  const exchanges = new Exchanges();
  for (const [number, text] of texts.entries()) {
    const [from, to] = number % 2 === 0 ? ["a", "b"] : ["b", "a"] as const;
    if (exchanges.add({ from: from ?? "", to: to ?? "", text, at: number * gap_ms })) return number;
  }
  return undefined;
}

Deno.test("two peers that thank each other are a loop [4.loop.exchange]", () => {
  const polite = Array.from(
    { length: 20 },
    (_, number) =>
      number % 2 === 0 ? `Thank you! (${number})` : `You are welcome, ask-${number}f3a again.`,
  );
  assert.equal(firstLoop(polite), 9);
  assert.equal(firstLoop(polite, 11 * 60_000), undefined);
});

Deno.test("an exchange with news in it is no loop", () => {
  const words = "port file route test schema index parser token socket cursor queue frame".split(
    " ",
  );
  const work = Array.from(
    { length: 200 },
    (_, number) =>
      `The ${words[number % 12]} in src/${words[(number * 7) % 12]}${"abcdefghij"[number % 10]}` +
      `/${String.fromCharCode(97 + number % 26).repeat(3 + number / 26)}.ts is broken`,
  );
  assert.equal(firstLoop(work), undefined);
});

async function pair(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  const w = world({ settings: { "human.name": "sam", ...settings } });
  for (const name of ["api", "web"]) await connectPeer(w, name, { circle: "main" });
  await w.clock.settle();
  return w;
}

/** The peers ask and answer each other with the same words. */
async function pingPong(w: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const correlation_id = await ask(w, "api", "web", `ping ${round}`);
    await w.tick(5);
    await w.call(ackAsk, { body: { correlation_id, from_peer: "web", message: `pong ${round}` } });
    await w.tick(5);
  }
}

const looping = async (w: World, id: string) =>
  (await w.call(getPeer, { params: { id }, query: {} })).looping;
const notices = (w: World) => eventData(w, "inbox_item").filter(({ from }) => from === "mesh");

Deno.test("peers that ping-pong are reported once, on their cards and in the inbox [4.loop.report]", async () => {
  await using w = await pair();
  await pingPong(w, 4);
  assert.deepEqual(eventData(w, "looping"), []);
  await pingPong(w, 10);
  const [found, ...more] = eventData(w, "looping");
  assert.deepEqual([found?.["kind"], more, notices(w).length], ["exchange", [], 1]);
  assert.deepEqual([(await looping(w, "api"))?.with, (await looping(w, "web"))?.with], [
    ...["web", "api"],
  ]);
  assert.match(await (await w.fetch("/metrics")).text(), /mesh_loops_total\{kind="exchange"\} 1\n/);
  const { items } = await (await w.fetch("/inbox")).json();
  assert.match(items[0].text, /answer each other without anything new: the last 8 messages/);
  await w.tick(700);
  assert.equal(await looping(w, "api"), undefined);
});

Deno.test("with loops off, nothing is searched for", async () => {
  await using w = await pair({ "breakers.loops": "off" });
  await pingPong(w, 12);
  assert.deepEqual([eventData(w, "looping"), notices(w)], [[], []]);
});

Deno.test("messages of one peer that gets no answer are no loop", async () => {
  await using w = await pair();
  for (let number = 0; number < 30; number++) {
    await notify(w, "api", "web", "still building");
    await w.tick(5);
  }
  assert.deepEqual(eventData(w, "looping"), []);
});

Deno.test("an exchange in which a peer works is no loop", async () => {
  await using at = await usageWorld();
  const { w, folder } = at;
  await prompt(w, "api", "Go on");
  const line = {
    type: "assistant",
    timestamp: new Date(w.clock.now() + 60_000).toISOString(),
    message: {
      id: "msg_1",
      content: [{ type: "tool_use", id: "t1", name: "Edit", input: { file_path: "a.ts" } }],
    },
  };
  folder.write(`projects/p/${API}.jsonl`, `${JSON.stringify(line)}\n`);
  await pingPong(w, 12);
  assert.deepEqual(eventData(w, "looping"), []);
});

/** An agent of Claude Code whose hooks report its calls. */
async function hookedWorld(settings: Readonly<Record<string, string>> = {}) {
  const sockets = new FakeSockets();
  const hooks = { "claude-code": claudeCodeHooks };
  const w = world({ hooks, sockets, settings: { "human.name": "sam", ...settings } });
  w.processes.start(41);
  const session_id = "33333333-2222-4333-8444-555555555555";
  const hook = async (event: string, more: object = {}) => {
    const body = { hook_event_name: event, session_id, cwd: "/w/agent", ...more };
    await w.post("/hooks/claude-code", body, { "x-mesh-agent-pid": "41" });
    await w.clock.advance(1_000);
  };
  await hook("SessionStart", { source: "startup" });
  await hook("UserPromptSubmit", { prompt: "Build it" });
  const runs = (command: string, tool_response: string) =>
    hook("PostToolUse", { tool_name: "Bash", tool_input: { command }, tool_response });
  return Object.assign(w, { hook, runs });
}

Deno.test("a turn that repeats its calls is reported once, by what its hooks report", async () => {
  await using w = await hookedWorld();
  for (let number = 0; number < 20; number++) await w.runs("npm test", "3 failed");
  await w.tick();
  assert.deepEqual(eventData(w, "looping").map(({ kind, times }) => [kind, times]), [["calls", 8]]);
  assert.equal(notices(w).length, 1);
  await w.hook("Stop", { last_assistant_message: "Done", stop_hook_active: true });
  await w.hook("UserPromptSubmit", { prompt: "Again" });
  for (let number = 0; number < 8; number++) await w.runs("npm test", "3 failed");
  assert.equal(eventData(w, "looping").length, 2);
});

Deno.test("a turn that polls with changing results is not reported", async () => {
  await using w = await hookedWorld();
  for (let number = 0; number < 60; number++) await w.runs("gh run view", `${number} of 90 steps`);
  await w.tick();
  assert.deepEqual(eventData(w, "looping"), []);
});

Deno.test("with loops: interrupt, the agent at work is interrupted in mesh's name [4.loop.interrupt]", async () => {
  await using w = await hookedWorld({ "breakers.loops": "interrupt" });
  for (let number = 0; number < 8; number++) await w.runs("npm test", "3 failed");
  for (let second = 0; second < 10; second++) await w.tick();
  const tried = eventData(w, "interrupt");
  assert.equal(tried.length > 0, true);
  assert.equal(tried[0]?.["from"], "mesh");
  assert.match(String(w.daemon.inbox.list({ limit: 1 } as never).items[0]?.text), /interrupted/);
});

Deno.test("with loops: interrupt, each further message of an exchange interrupts an agent at work", async () => {
  await using w = await pair({ "breakers.loops": "interrupt" });
  const tried = () => eventData(w, "interrupt").length;
  await pingPong(w, 6);
  assert.deepEqual([eventData(w, "looping").length, tried()], [1, 0]);
  // Nobody was in a turn when the loop was found.
  const turn = { turn_state: "working", prompt: "ping" };
  await w.post("/peers/web/turn", turn);
  await pingPong(w, 1);
  assert.equal(tried() > 0, true);
  assert.deepEqual([eventData(w, "looping").length, notices(w).length], [1, 1]);
});

Deno.test("a repeated turn is found in the session's file, where no hook reports calls", async () => {
  await using at = await usageWorld();
  const { w, folder } = at;
  await prompt(w, "api", "Go on");
  const lines = Array.from({ length: 9 }, (_, number) => {
    const timestamp = new Date(w.clock.now() + number * 1_000).toISOString();
    const id = `t${number}`;
    const call = [{ type: "tool_use", id, name: "Bash", input: { command: "npm test" } }];
    const result = [{ type: "tool_result", tool_use_id: id, content: "3 failed" }];
    return [
      {
        type: "assistant",
        uuid: `a${number}`,
        timestamp,
        message: { id: `m${number}`, content: call },
      },
      { type: "user", uuid: `u${number}`, timestamp, message: { role: "user", content: result } },
    ];
  });
  const text = lines.flat().map((line) => JSON.stringify(line)).join("\n");
  folder.write(`projects/p/${API}.jsonl`, `${text}\n`);
  for (let second = 0; second < 20; second++) await w.tick();
  assert.deepEqual(eventData(w, "looping").map(({ kind, name }) => [kind, name]), [[
    "calls",
    "api",
  ]]);
  assert.equal((await looping(w, "api"))?.kind, "calls");
  await w.clock.advance(DAY_MS);
});
