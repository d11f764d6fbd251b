/** Session files are read once for all features, from the place where the last reading ended. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { claudeSessionFiles } from "../../../../daemon/features/agents/claude_code/session_files.ts";
import { fs } from "kit/host/node_library.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { addPeer, eventData, post, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { SessionsFolder } from "../../../support/sessions/recorded_sessions.ts";
import { TERMINAL } from "../../../support/sessions/usage_world.ts";
import { FakeSockets, type World } from "../../../support/world.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";

/** A Claude Code agent, whose calls a test records, and which outlives restarts of the daemon. */
function recordedAgent() {
  const folder = new SessionsFolder();
  const sockets = new FakeSockets();
  sockets.holders = [77];
  const state = restartableWorld({
    hooks: { "claude-code": claudeCodeHooks },
    settings: { "human.name": "sam" },
    at_terminal: true,
    sockets,
  });
  const file = join(folder.path, `projects/p/${SESSION}.jsonl`);
  let lines: string[] = [];
  let calls = 0;
  return {
    file,
    /** A daemon that has read nothing yet. */
    restart: () =>
      state.start({ sessionFiles: { "claude-code": claudeSessionFiles([folder.path]) } }),
    async start(): Promise<World> {
      const w = this.restart();
      w.processes.start(41);
      const more = { backend: "claude-code", path: "/w", runtime_session_id: SESSION };
      await addPeer(w, "api", { ...more, agent_pid: 41 });
      return w;
    },
    /** The agent calls a tool, and its request uses 10 tokens. */
    calls(w: World, command = "ls"): void {
      lines.push(...callLines(++calls, w.clock.now(), command));
      folder.write(`projects/p/${SESSION}.jsonl`, `${lines.join("\n")}\n`);
    },
    /** The agent writes its history again, as after a compaction. */
    repeats(): void {
      lines.push(...lines);
      folder.write(`projects/p/${SESSION}.jsonl`, `${lines.join("\n")}\n`);
    },
    /** The agent begins its file anew. */
    replace: () => void (lines = []),
    /** The calls that wrote the file, and the counted tokens. */
    async counted(w: World): Promise<[writes: number, tokens: number]> {
      const { uses } = await (await w.fetch("/files?path=/w/a.ts", { headers: TERMINAL })).json();
      const { total } = await (await w.fetch("/usage?by=day", { headers: TERMINAL })).json();
      return [uses[0]?.times ?? 0, (total.input_tokens ?? 0) + (total.output_tokens ?? 0)];
    },
    [Symbol.dispose]() {
      state[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** A call and its result. */
function callLines(call: number, at: number, command: string): string[] {
  const id = `toolu_${call}`;
  const timestamp = new Date(at).toISOString();
  const usage = { input_tokens: 9, output_tokens: 1 };
  const input = { file_path: "/w/a.ts", command };
  const content = [{ type: "tool_use", id, name: "Write", input }];
  const message = { id: `msg_${call}`, model: "opus-5", usage, content };
  const result = { content: [{ type: "tool_result", tool_use_id: id, content: "x" }] };
  return [
    { type: "assistant", timestamp, message, uuid: uuid(call, 1) },
    { type: "user", timestamp, message: result, uuid: uuid(call, 2) },
  ].map((line) => JSON.stringify(line));
}

function uuid(call: number, line: number): string {
  return `00000000-0000-4000-8000-${String(10 * call + line).padStart(12, "0")}`;
}

/** Counts how often this process opens a file. */
function opensOf(file: string) {
  const library = fs();
  const { openSync } = library;
  const opens = { count: 0, [Symbol.dispose]: () => void (library.openSync = openSync) };
  library.openSync = (path, ...more) => {
    if (path === file) opens.count++;
    return openSync(path, ...more);
  };
  return opens;
}

Deno.test("a change of a session's file is opened and read once for tokens, file uses and loops", async () => {
  using agent = recordedAgent();
  await using w = await agent.start();
  reportSessions(w);
  agent.calls(w);
  assert.deepEqual(await agent.counted(w), [1, 10]);
  await post(w, "/peers/api/turn", { turn_state: "working" });
  using opens = opensOf(agent.file);
  for (let call = 0; call < 8; call++) agent.calls(w);
  await w.tick(16);
  assert.equal(opens.count, 1);
  assert.deepEqual(eventData(w, "looping").map(({ kind, times }) => [kind, times]), [["calls", 8]]);
  await post(w, "/peers/api/turn", { turn_state: "idle" });
  await w.tick(16);
  assert.deepEqual(await agent.counted(w), [9, 90]);
  assert.equal(opens.count, 1);
});

Deno.test("a restart reads on where the last reading ended, and counts nothing twice", async () => {
  using agent = recordedAgent();
  {
    await using w = await agent.start();
    reportSessions(w);
    agent.calls(w);
    assert.deepEqual(await agent.counted(w), [1, 10]);
    agent.calls(w);
  }
  agent.repeats();
  await using w = agent.restart();
  assert.deepEqual(await agent.counted(w), [2, 20]);
  assert.deepEqual(await agent.counted(w), [2, 20]);
});

Deno.test("a session's file that was replaced, by a shorter or a longer one, is read from its beginning", async () => {
  using agent = recordedAgent();
  await using w = await agent.start();
  reportSessions(w);
  for (let call = 0; call < 3; call++) agent.calls(w);
  assert.deepEqual(await agent.counted(w), [3, 30]);
  agent.replace();
  agent.calls(w);
  assert.deepEqual(await agent.counted(w), [4, 40]);
  agent.replace();
  for (let call = 0; call < 3; call++) agent.calls(w);
  assert.deepEqual(await agent.counted(w), [7, 70]);
});

Deno.test("the file uses of a session are known from its beginning once the session is proved", async () => {
  using agent = recordedAgent();
  await using w = await agent.start();
  agent.calls(w);
  assert.deepEqual(await agent.counted(w), [0, 10]);
  reportSessions(w);
  agent.calls(w);
  assert.deepEqual(await agent.counted(w), [2, 20]);
});
