/** The client of the Agent Client Protocol: sessions, what proves a prompt read, broken agents. */

import assert from "node:assert/strict";
import { TOOL_CALLS_MAX, TURN_CHARS_MAX } from "../../../cli/acp/turn.ts";
import {
  FakeAcpAgent,
  MCP_SERVER,
  NEVER,
  OPTIONS,
  Refusal,
  says,
  SESSION,
  update,
} from "../../support/cli/fake_acp_agent.ts";
import { LINE_CHARS_MAX, readLines } from "../../../cli/acp/json_rpc.ts";

/** Records when a prompt is proved and which tools it uses. */
function listener() {
  const events: string[] = [];
  return { events, seen: () => events.push("seen"), tool: (title: string) => events.push(title) };
}

Deno.test("the client offers neither files nor terminals, and hands over the MCP server", async () => {
  const fake = new FakeAcpAgent();
  const opened = await fake.open();
  assert.deepEqual([opened.session_id, opened.isContinued], [SESSION, false]);
  const [initialize, session] = fake.received.map(({ params }) => params) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const fs = { readTextFile: false, writeTextFile: false };
  assert.deepEqual(initialize["clientCapabilities"], { fs, terminal: false });
  assert.deepEqual(session, { cwd: "/work/api", mcpServers: [MCP_SERVER.stdio] });
  const { error } = await fake.request("fs/read_text_file", { path: "/etc/passwd" });
  assert.equal((error as { code: number }).code, -32_601);
});

// deno-fmt-ignore
const CAPABILITIES: readonly [what: string, agentCapabilities: unknown, form: "http" | "stdio"][] = [
  ["http",              { mcpCapabilities: { http: true, sse: true } },   "http"],
  ["sse only",          { mcpCapabilities: { http: false, sse: true } },  "stdio"],
  ["neither of them",   { mcpCapabilities: {} },                          "stdio"],
  ["a malformed value", { mcpCapabilities: { http: "yes" } },             "stdio"],
  ["no such field",     { loadSession: true },                            "stdio"],
];

for (const [what, agentCapabilities, form] of CAPABILITIES) {
  Deno.test(`an agent whose capabilities name ${what} gets the MCP server over ${form}`, async () => {
    const initialize = () => ({ protocolVersion: 1, agentCapabilities });
    for (const previous of [undefined, SESSION]) {
      const fake = new FakeAcpAgent({ initialize });
      const opening = fake.agent.open({ ...OPTIONS, previous });
      await fake.clock.advance(1_000);
      await opening;
      const { mcpServers } = fake.received[1]?.["params"] as { mcpServers: unknown };
      assert.deepEqual(mcpServers, [MCP_SERVER[form]]);
    }
  });
}

Deno.test("the first update that only a running prompt causes proves it read", async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const fake = new FakeAcpAgent({
    "session/prompt": async (_, agent) => {
      agent.notify(update("available_commands_update", { availableCommands: [] }));
      agent.notify({ ...says("elsewhere"), sessionId: "another" });
      await goOn;
      agent.notify(update("tool_call", { toolCallId: "1", title: "Read\nfile", kind: "read" }));
      agent.notify(update("tool_call_update", { toolCallId: "1", status: "completed" }));
      agent.notify(says("Port "));
      agent.notify(says("8080"));
      return { stopReason: "end_turn" };
    },
  });
  await fake.open();
  const heard = listener();
  const prompt = fake.agent.prompt("Which port?", heard);
  await fake.clock.settle();
  assert.deepEqual(heard.events, []);
  resolve();
  const { turn, stopReason } = await prompt;
  assert.deepEqual([heard.events, turn.text, stopReason], [
    ["seen", "Read file"],
    "Port 8080",
    "end_turn",
  ]);
  assert.deepEqual(turn.toolCalls, [{ name: "Read file", kind: "read", status: "completed" }]);
});

Deno.test("a turn keeps at most 50 tool calls and 100,000 characters", async () => {
  const fake = new FakeAcpAgent({
    "session/prompt": (_, agent) => {
      for (let id = 0; id <= TOOL_CALLS_MAX; id++) {
        agent.notify(update("tool_call", { toolCallId: `${id}`, title: `Tool ${id}` }));
      }
      agent.notify(update("tool_call_update", { toolCallId: "0", status: "failed" }));
      agent.notify(says("x".repeat(TURN_CHARS_MAX - 1)));
      agent.notify(says("yz"));
      return { stopReason: "end_turn" };
    },
  });
  await fake.open();
  const { turn: { text, toolCalls } } = await fake.agent.prompt("Hello", listener());
  assert.deepEqual([text.length, text.at(-1)], [TURN_CHARS_MAX, "y"]);
  assert.deepEqual([toolCalls.length, toolCalls[0], toolCalls.at(-1)], [
    TOOL_CALLS_MAX,
    { name: "Tool 0", status: "failed" },
    { name: "Tool 49" },
  ]);
});

Deno.test("the result proves a prompt read, unless it was cancelled", async () => {
  for (const [stopReason, events] of [["end_turn", ["seen"]], ["cancelled", []]] as const) {
    const fake = new FakeAcpAgent({ "session/prompt": () => ({ stopReason }) });
    await fake.open();
    const heard = listener();
    await fake.agent.prompt("Hello", heard);
    assert.deepEqual(heard.events, events, stopReason);
  }
});

Deno.test("updates that may be the history of a loaded session prove nothing", async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const fake = new FakeAcpAgent({
    "session/load": (_, agent) => {
      agent.notify(says("An earlier answer"));
      return null;
    },
    "session/prompt": async (_, agent) => {
      agent.notify(says("Late history"));
      await goOn;
      return { stopReason: "end_turn" };
    },
  });
  const { session_id, isContinued } = await fake.openContinued();
  assert.deepEqual([session_id, isContinued], [SESSION, true]);
  const heard = listener();
  const prompt = fake.agent.prompt("Hello", heard);
  await fake.clock.settle();
  assert.deepEqual(heard.events, []);
  resolve();
  await prompt;
  assert.deepEqual(heard.events, ["seen"]);
});

Deno.test("a session that cannot be loaded is replaced by a new one, which says why", async () => {
  const gone = new FakeAcpAgent({
    "session/load": () => {
      throw new Refusal(-32_603, "Internal error", { details: "No such session" });
    },
  });
  const opened = await gone.open("old");
  assert.deepEqual([opened.session_id, opened.notContinued], [
    SESSION,
    "Internal error: No such session",
  ]);
  const simple = new FakeAcpAgent({ initialize: () => ({ protocolVersion: 1 }) });
  assert.equal((await simple.open("old")).notContinued, "it cannot load sessions");
});

Deno.test("an agent that cannot be used is refused, with the reason", async () => {
  const newer = new FakeAcpAgent({ initialize: () => ({ protocolVersion: 2 }) });
  await assert.rejects(
    newer.open(),
    /version 2 of the Agent Client Protocol; mesh speaks version 1/,
  );
  const other = new FakeAcpAgent({ initialize: () => "hello" });
  await assert.rejects(other.open(), /The program is no ACP agent/);
  const locked = new FakeAcpAgent({
    "initialize": () => ({ protocolVersion: 1, authMethods: [{ id: "x", name: "Use a key" }] }),
    "session/new": () => {
      throw new Refusal(-32_000, "Authentication required");
    },
  });
  await assert.rejects(locked.open(), /log in first: Authentication required.*\(Use a key\)/);
  const silent = new FakeAcpAgent({ initialize: () => NEVER });
  const opening = silent.agent.open(OPTIONS);
  const refused = assert.rejects(opening, /did not answer initialize in 120 s/);
  await silent.clock.advance(120_000);
  await refused;
});

Deno.test("an agent that ends fails its prompt, and proves nothing by that", async () => {
  const fake = new FakeAcpAgent({ "session/prompt": () => NEVER });
  await fake.open();
  const heard = listener();
  const prompt = assert.rejects(fake.agent.prompt("Hello", heard), { name: "RpcEnded" });
  await fake.clock.settle();
  fake.end();
  await prompt;
  assert.deepEqual([heard.events, await fake.ending], [[], "ended"]);
});

Deno.test("stray lines are ignored, but 20 of them are another protocol", async () => {
  const fake = new FakeAcpAgent();
  for (let line = 1; line < 20; line++) fake.write(`Log line ${line}\u001b[2J`);
  await fake.open();
  assert.deepEqual([fake.ignored.length, fake.ignored[0]], [19, "Log line 1[2J"]);
  fake.write("And one more");
  assert.match(await fake.ending, /^It does not speak JSON-RPC.*And one more$/);
});

Deno.test("a line of more than 16 MiB ends the connection, and one of 16 MiB does not", async () => {
  async function* chunks(length: number) {
    yield new Uint8Array(length - 1).fill(32);
    yield new TextEncoder().encode("é");
    yield new TextEncoder().encode("\nnext");
  }
  const lines = await Array.fromAsync(readLines(chunks(LINE_CHARS_MAX)));
  assert.deepEqual(lines.map(({ length }) => length), [LINE_CHARS_MAX, 4]);
  await assert.rejects(Array.fromAsync(readLines(chunks(LINE_CHARS_MAX + 1))), /16 MiB/);
});

const PERMISSION = {
  sessionId: SESSION,
  toolCall: { toolCallId: "1" },
  options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
};

Deno.test("a permission request of a turn gets the tool's details from earlier updates", async () => {
  const asked: unknown[] = [];
  let answer: Record<string, unknown> = {};
  const fake = new FakeAcpAgent({
    "session/prompt": async (_, agent) => {
      const input = { command: "ls" };
      agent.notify(update("tool_call", { toolCallId: "1", title: "Run ls", rawInput: input }));
      answer = await agent.request("session/request_permission", PERMISSION);
      return { stopReason: "end_turn" };
    },
  }, {
    permit: ({ call: { title, rawInput } }) => {
      asked.push(title, rawInput);
      return Promise.resolve({ outcome: { outcome: "selected", optionId: "yes" } });
    },
  });
  await fake.open();
  await fake.agent.prompt("List", listener());
  assert.deepEqual(asked, ["Run ls", { command: "ls" }]);
  assert.deepEqual(answer["result"], { outcome: { outcome: "selected", optionId: "yes" } });
});

Deno.test("no tool is permitted outside of a turn, or once its turn is cancelled", async () => {
  const cancelled = { outcome: { outcome: "cancelled" } };
  const selected = { outcome: "selected", optionId: "yes" } as const;
  let answer: Promise<Record<string, unknown>> | undefined;
  const fake = new FakeAcpAgent({
    "session/prompt": async (_, agent) => {
      answer = agent.request("session/request_permission", PERMISSION);
      await answer;
      return { stopReason: "cancelled" };
    },
  }, {
    permit: (_, signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ outcome: selected }))
      ),
  });
  await fake.open();
  const before = await fake.request("session/request_permission", PERMISSION);
  assert.deepEqual(before["result"], cancelled);
  const prompt = fake.agent.prompt("List", listener());
  await fake.clock.settle();
  fake.agent.cancel();
  await prompt;
  assert.deepEqual((await answer)?.["result"], cancelled);
  assert(fake.received.some(({ method }) => method === "session/cancel"));
});
