/** The ends of tool calls in the records of each agent. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { entriesOf as claude } from "../../../../../daemon/features/agents/claude_code/session_files.ts";
import { entriesOf as codex } from "../../../../../daemon/features/agents/codex/session_files.ts";
import { entriesOf as copilot } from "../../../../../daemon/features/agents/copilot/session_files.ts";
import {
  entriesOf as gemini,
  messagesIn,
} from "../../../../../daemon/features/agents/gemini/messages.ts";
import { opencodeSessionFiles } from "../../../../../daemon/features/agents/opencode/session_files.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

type Entries = readonly { readonly kind: string; readonly outcome?: string | null }[];
const outcomeIn = (entries: Entries) => entries.find(({ kind }) => kind === "tool_result")?.outcome;

Deno.test("Claude Code: failed, refused and interrupted calls are told apart", () => {
  const of = (block: object, more: object = {}) =>
    outcomeIn(claude(JSON.stringify({
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "x", ...block }] },
      ...more,
    })));
  assert.equal(of({}), "ok");
  assert.equal(of({ is_error: true }), "failed");
  assert.equal(of({ is_error: true }, { toolUseResult: "User rejected tool use" }), "denied");
  assert.equal(of({ is_error: true }, { toolDenialKind: "user-rejected" }), "denied");
  assert.equal(of({ is_error: true }, { toolDenialKind: "interrupted" }), "interrupted");
});

Deno.test("Codex: the exit code and Codex's own words decide", () => {
  const of = (output: string) =>
    outcomeIn(codex(JSON.stringify({
      type: "response_item",
      payload: { type: "function_call_output", call_id: "c", output },
    })));
  const chunk = (code: number, text: string) =>
    `Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code ${code}\nOutput:\n${text}`;
  assert.equal(of(chunk(0, "Process exited with code 1")), "ok");
  assert.equal(of(chunk(2, "")), "failed");
  assert.equal(of("Exit code: 1\nWall time: 0 seconds\nOutput:\n"), "failed");
  assert.equal(of('{"output":"x","metadata":{"exit_code":1}}'), "failed");
  assert.equal(of("exec command rejected by user"), "denied");
  assert.equal(of("aborted by user after 3.2s"), "interrupted");
});

Deno.test("Codex: a tool of an MCP server is named with its server, as other agents name it", () => {
  const of = (call: object) => {
    const payload = { type: "function_call", call_id: "c", arguments: "{}", ...call };
    return codex(JSON.stringify({ type: "response_item", payload }))[0]?.tool;
  };
  assert.equal(of({ name: "ack", namespace: "mcp__mesh" }), "mcp__mesh__ack");
  assert.equal(of({ name: "exec_command" }), "exec_command");
});

Deno.test("Gemini CLI: the status of a call decides", () => {
  const of = (status: string, output = "x") => {
    const result = [{ functionResponse: { response: { output } } }];
    const toolCalls = [{ name: "shell", status, result, timestamp: "2026-11-26T13:23:01.824Z" }];
    const message = { id: "m", type: "gemini", content: "", toolCalls, timestamp: null };
    return outcomeIn(gemini({ messages: messagesIn(message) }));
  };
  assert.equal(of("success"), "ok");
  assert.equal(of("error"), "failed");
  assert.equal(of("cancelled", "User did not allow tool call"), "denied");
  assert.equal(of("cancelled", "User cancelled the request"), "interrupted");
});

Deno.test("Copilot CLI: the record of a call's end decides", () => {
  const of = (data: object) =>
    outcomeIn(copilot(JSON.stringify({
      type: "tool.execution_complete",
      timestamp: "2026-11-26T13:23:28.221Z",
      data: { toolCallId: "c", ...data },
    })));
  assert.equal(of({ success: true, result: { content: "" } }), "ok");
  assert.equal(of({ success: false, error: { message: "no such file" } }), "failed");
  assert.equal(of({ success: false, error: { message: "x", code: "denied" } }), "denied");
  assert.equal(of({ success: false, error: { message: "aborted" } }), "interrupted");
});

Deno.test("opencode: the error of a call decides, and its own times are kept", async () => {
  using folder = new SessionsFolder();
  const file = join(folder.path, "opencode.db");
  const id = "ses_de7f37ffaffepJ6qnFpADRmav9";
  const of = async (state: object) => {
    using db = new DatabaseSync(file);
    const data = JSON.stringify({ type: "tool", tool: "bash", callID: "c", state });
    db.prepare("update part set data = ? where data ->> 'type' = 'tool'").run(data);
    const page = await opencodeSessionFiles(folder.path).read(id, { entries_max: 50 });
    return page?.entries ?? [];
  };
  {
    using db = new DatabaseSync(file);
    db.exec(readRecording("opencode.sql"));
  }
  const error = (text: string) => of({ status: "error", error: text, time: { start: 1, end: 2 } });
  assert.equal(outcomeIn(await error("no such file")), "failed");
  const rejected = "The user rejected permission to use this specific tool call.";
  assert.equal(outcomeIn(await error(rejected)), "denied");
  assert.equal(outcomeIn(await error("Tool execution aborted")), "interrupted");
  const running = await of({ status: "running", input: {}, time: { start: 7 } });
  assert.deepEqual(
    running.filter(({ tool }) => tool === "bash").map(({ kind, at }) => [kind, at]),
    [["tool_call", 7]],
  );
});
