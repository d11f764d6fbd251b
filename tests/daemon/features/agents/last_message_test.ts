/** An agent's last message in a turn: from its hook, or from its records. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { codexHooks } from "../../../../daemon/features/agents/codex/hooks.ts";
import type { HookReader } from "../../../../daemon/features/agents/adapter.ts";
import { copilotReader } from "../../../../daemon/features/agents/copilot/hooks.ts";
import { geminiReader } from "../../../../daemon/features/agents/gemini/hooks.ts";
import { FakeClock } from "../../../support/clock.ts";

const ID = "4ece34a9-9295-42f4-88e9-8117639b0c1b";

/** A folder of an agent, with these JSON lines. */
function records(path: string, lines: readonly unknown[]) {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-records-" });
  const file = join(dir, path);
  Deno.mkdirSync(join(file, ".."), { recursive: true });
  const write = (lines: readonly unknown[]) =>
    Deno.writeTextFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  write(lines);
  return { dir, write, [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }) };
}

async function lastOf(reader: HookReader, payload: Record<string, unknown>) {
  const report = reader.read(payload);
  return await reader.lastMessage?.(report, payload) ?? report.last_message;
}

// Copilot CLI.

const CREATED_AT = "2026-11-21T15:22:17.443Z";
const transcriptLine = (type: string, data: Record<string, unknown> = {}, more = {}) => {
  return { type, timestamp: CREATED_AT, data, ...more };
};
const asked = transcriptLine("user.message", { content: "Name it" });
const assistantMessage = (content: string) => transcriptLine("assistant.message", { content });
const stopped = (timestamp: number) =>
  transcriptLine("hook.start", { hookType: "agentStop", input: { timestamp } });
const EVENTS = `session-state/${ID}/events.jsonl`;
const STOP_HOOK = { hookName: "agentStop", sessionId: ID, cwd: "/w", timestamp: 7 };

Deno.test("Copilot CLI's last message is the last text of the turn in its records", async () => {
  const inner = transcriptLine("assistant.message", { content: "I am the subagent" }, {
    agentId: "a-1",
  });
  using home = records(EVENTS, [
    ...[
      asked,
      assistantMessage("From before"),
      stopped(1),
      asked,
      assistantMessage("Let me see"),
      assistantMessage(""),
      inner,
    ],
    ...[
      assistantMessage("It is Lake Constance"),
      inner,
      assistantMessage(""),
      stopped(7),
      asked,
      assistantMessage("Later"),
    ],
  ]);
  const reader = copilotReader({ config_dir: home.dir, clock: new FakeClock() });
  assert.equal(await lastOf(reader, STOP_HOOK), "It is Lake Constance");
  assert.equal(
    await lastOf(reader, { ...STOP_HOOK, hookName: "sessionStart", source: "new" }),
    undefined,
  );
});

Deno.test("Copilot CLI's records may be a moment late, and a turn may end without text", async () => {
  using home = records(EVENTS, [asked, assistantMessage("Let me see")]);
  const clock = new FakeClock();
  const reader = copilotReader({ config_dir: home.dir, clock });
  const waiting = lastOf(reader, STOP_HOOK);
  await clock.advance(100);
  home.write([
    asked,
    assistantMessage("Let me see"),
    assistantMessage("Late, but here"),
    stopped(7),
  ]);
  await clock.advance(100);
  assert.equal(await waiting, "Late, but here");
  const never = lastOf(reader, { ...STOP_HOOK, timestamp: 8 });
  await clock.advance(1_000);
  assert.equal(await never, "Late, but here", "no further text came");
  home.write([asked, stopped(7)]);
  assert.equal(await lastOf(reader, STOP_HOOK), "");
  assert.equal(await lastOf(reader, { ...STOP_HOOK, sessionId: "../../x" }), "");
});

// Gemini CLI.

const CHAT = `tmp/api/chats/session-2026-11-21T15-22-${ID.slice(0, 8)}.jsonl`;
const AFTER_AGENT_HOOK = { hook_event_name: "AfterAgent", session_id: ID, cwd: "/w/api" };

Deno.test("Gemini CLI's hook holds all texts of a turn; the last one is taken from its records", async () => {
  using home = records(CHAT, [
    { sessionId: ID, kind: "main" },
    { type: "user", content: [{ text: "Name it" }] },
    { type: "gemini", content: "Let me see\nwho I am" },
    { type: "gemini", content: "" },
    { type: "gemini", content: "It is\nLake Constance" },
  ]);
  Deno.writeTextFileSync(
    join(home.dir, "projects.json"),
    JSON.stringify({ projects: { "/w/api": "api" } }),
  );
  const reader = geminiReader(home.dir);
  const last = (prompt_response: string, more = {}) =>
    lastOf(reader, { ...AFTER_AGENT_HOOK, prompt_response, ...more });
  assert.equal(await last("Let me see\nwho I am\nIt is\nLake Constance"), "It is\nLake Constance");
  assert.equal(await last("It is\nLake Constance"), "It is\nLake Constance");
  const whole = "Let me see\nAnother end";
  assert.equal(await last(whole), whole, "an unconfirmed text is kept in full");
  assert.equal(await last(whole, { cwd: "/elsewhere" }), whole);
  assert.equal(await last(""), "");
});

// A turn without text.

for (const [name, reader] of [["Claude Code", claudeCodeHooks], ["Codex", codexHooks()]] as const) {
  Deno.test(`a turn of ${name} that ends without text has an empty last message`, async () => {
    const stop = { hook_event_name: "Stop", session_id: "s-1", stop_hook_active: false };
    for (const last of [{}, { last_assistant_message: null }]) {
      assert.equal(await lastOf(reader, { ...stop, ...last }), "");
      assert.equal(reader.read({ ...stop, ...last }).turn_state, "idle");
    }
  });
}
