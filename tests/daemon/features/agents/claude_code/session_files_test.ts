import assert from "node:assert/strict";
import { claudeSessionFiles } from "../../../../../daemon/features/agents/claude_code/session_files.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

const ID = "11111111-2222-4333-8444-555555555555";
const RECORDED = readRecording("claude_code.jsonl");

function withTranscript(text: string, id = ID) {
  const folder = new SessionsFolder();
  const file = folder.write(`.claude/projects/-home-sam-api/${id}.jsonl`, text);
  const files = claudeSessionFiles(["/none", `${folder.path}/.claude`]);
  return { files, file, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const line = (json: unknown) => `${JSON.stringify(json)}\n`;
const TIME = "2026-11-26T13:00:00.000Z";

Deno.test("prompts, texts, tool calls and their results of a Claude Code are distinguished", async () => {
  using at = withTranscript(RECORDED);
  const page = await at.files.read(ID, { entries_max: 50 });
  assert.deepEqual(page?.entries.map(({ kind, tool, text }) => [kind, tool, text.split("\n")[0]]), [
    ["prompt", null, "Read the notes"],
    ["tool_call", "Bash", '{"command":"echo hi; cat notes.txt","description":"read"}'],
    ["tool_result", null, "hi"],
    ["text", null, "The notes say hello."],
    ["prompt", null, "Then wait"],
    ["tool_call", "Bash", '{"command":"sleep 3; echo slept","description":"wait"}'],
    ["tool_result", null, "slept"],
    // A prompt that came while the agent worked.
    ["prompt", null, "This came while you worked. @@SAY Noted."],
    ["text", null, "Noted."],
  ]);
  assert.equal(page?.before, null);
  assert.equal(page?.entries[0]?.at, Date.parse("2026-11-26T13:07:45.190Z"));
});

Deno.test("a conversation is read backwards in pages that join without a gap", async () => {
  using at = withTranscript(RECORDED);
  const whole = await at.files.read(ID, { entries_max: 50 });
  const pages: string[][] = [];
  let before: number | null | undefined;
  do {
    const page = await at.files.read(ID, { entries_max: 4, before: before ?? undefined });
    pages.unshift(page?.entries.map(({ text }) => text) ?? []);
    before = page?.before;
  } while (typeof before === "number");
  assert.deepEqual(pages.flat(), whole?.entries.map(({ text }) => text));
  assert.deepEqual(pages.map(({ length }) => length), [1, 4, 4]);
});

Deno.test("a read after a position returns only later entries", async () => {
  using at = withTranscript(RECORDED);
  const first = await at.files.read(ID, { entries_max: 50 });
  const after = first?.entries.at(-3)?.position;
  const next = await at.files.read(ID, { entries_max: 50, after });
  assert.deepEqual(next?.entries, first?.entries.slice(-2));
});

Deno.test("thoughts, subagents and additions of Claude Code are no part of a conversation", async () => {
  const message = (content: unknown) => ({
    type: "assistant",
    timestamp: TIME,
    message: { content },
  });
  using at = withTranscript(
    [
      { type: "user", isMeta: true, message: { content: "a caveat" } },
      { ...message([{ type: "text", text: "of a subagent" }]), isSidechain: true },
      message([{ type: "thinking", thinking: "hm" }, { type: "text", text: "shown" }]),
      { type: "user", isCompactSummary: true, message: { content: "a summary" } },
      {
        type: "user",
        message: {
          content: [{
            type: "tool_result",
            content: [{ type: "text", text: "a" }, { type: "image" }],
          }],
        },
      },
    ].map(line).join(""),
  );
  const page = await at.files.read(ID, { entries_max: 50 });
  assert.deepEqual(page?.entries.map(({ kind, text, at }) => [kind, text, at]), [
    ["text", "shown", Date.parse(TIME)],
    ["text", "a summary", null],
    ["tool_result", "a\n[image]", null],
  ]);
});

Deno.test("a Claude Code session is found by its id, its title and its folder", async () => {
  using at = withTranscript(RECORDED);
  const { sessions, complete } = await at.files.list({ limit: 5 });
  assert.equal(complete, true);
  assert.deepEqual(sessions.map(({ updated_at: _, ...found }) => found), [{
    session_id: ID,
    title: "Notes of the port",
    folder: "/home/sam/api",
    file: at.file,
  }]);
  const query = { limit: 5, id_prefix: "1111", title: "PORT", folder: "/home/sam/api" };
  assert.equal((await at.files.list(query)).sessions.length, 1);
  for (const other of [{ id_prefix: "2" }, { title: "web" }, { folder: "/home/sam" }]) {
    assert.deepEqual((await at.files.list({ ...query, ...other })).sessions, []);
  }
  assert.equal(at.files.locate(ID), at.file);
  assert.equal(at.files.locate("../../x"), undefined);
  assert.equal(await at.files.read("22222222", { entries_max: 1 }), undefined);
  assert.equal(await at.files.usage("22222222"), undefined);
});

Deno.test("a session without a title is called by its first prompt", async () => {
  using at = withTranscript(
    line({ type: "user", cwd: "/w", message: { content: "\nMend it\nnow" } }),
  );
  const { sessions } = await at.files.list({ limit: 5 });
  assert.equal(sessions[0]?.title, "Mend it");
});

Deno.test("the tokens are the sums that Claude Code wrote, and the context of the last request", async () => {
  using at = withTranscript(RECORDED);
  const expected = {
    input_tokens: 400,
    output_tokens: 80,
    cached_tokens: 0,
    context_tokens: 100,
    context_limit: null,
    model: "claude-opus-5-5",
  };
  assert.deepEqual(await at.files.usage(ID), expected);
  const usage = { input_tokens: 5, cache_read_input_tokens: 90, output_tokens: 7 };
  const message = { id: "msg_later", model: "claude-opus-5-5", usage };
  // Each block of an answer is a line, and repeats the tokens of the whole answer.
  const later = line({ type: "assistant", message }).repeat(2);
  using continued = withTranscript(RECORDED + later);
  assert.deepEqual(await continued.files.usage(ID), {
    ...expected,
    input_tokens: 495,
    output_tokens: 87,
    cached_tokens: 90,
    context_tokens: 95,
  });
  const lines = RECORDED.split("\n").filter((text) => !text.includes("cost-state"));
  using running = withTranscript(lines.join("\n"));
  assert.deepEqual(await running.files.usage(ID), expected);
  using silent = withTranscript(line({ type: "user", message: { content: "hi" } }));
  assert.equal(await silent.files.usage(ID), null);
});
