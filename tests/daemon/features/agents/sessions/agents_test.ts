import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { codexSessionFiles } from "../../../../../daemon/features/agents/codex/session_files.ts";
import { copilotSessionFiles } from "../../../../../daemon/features/agents/copilot/session_files.ts";
import { geminiSessionFiles } from "../../../../../daemon/features/agents/gemini/session_files.ts";
import { opencodeSessionFiles } from "../../../../../daemon/features/agents/opencode/session_files.ts";
import {
  READ_BYTES_MAX,
  type SessionFiles,
  type SessionPage,
} from "../../../../../daemon/features/agents/sessions/session_files.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

interface RecordedSession {
  readonly agent: string;
  readonly id: string;
  readonly text: string;
  /** Writes a recorded session below a folder, and reads the agent's files there. */
  readonly open: (folder: SessionsFolder, text: string) => SessionFiles;
  /** The tool, its input, and the end of its output. */
  readonly call: readonly [tool: string, input: string, result: string];
  readonly usage: Readonly<Record<string, unknown>>;
}

const TOKENS = { input_tokens: 300, output_tokens: 60, cached_tokens: 0, context_tokens: 100 };
const PROJECTS = JSON.stringify({ projects: { "/home/sam/api": "api" } });
const CODEX_ID = "01a21805-df95-7963-af5c-f73d6119bf61";
const COPILOT_ID = "22222222-2222-4333-8444-555555555555";

const codex: RecordedSession = {
  agent: "Codex",
  id: CODEX_ID,
  text: readRecording("codex.jsonl"),
  open(folder, text) {
    folder.write(`sessions/2026/11/26/rollout-2026-11-26T13-22-47-${CODEX_ID}.jsonl`, text);
    return codexSessionFiles(folder.path);
  },
  call: ["exec_command", '{"cmd":"echo hi; cat notes.txt"}', "hello from the file\n"],
  usage: {
    ...TOKENS,
    input_tokens: 400,
    output_tokens: 80,
    context_limit: 258_400,
    model: "fake-1",
  },
};

const gemini: RecordedSession = {
  agent: "Gemini CLI",
  id: "7b73ea9e-47da-4e28-be2f-c99dd9f341ab",
  text: readRecording("gemini.jsonl"),
  open(folder, text) {
    folder.write("projects.json", PROJECTS);
    const resumed = readRecording("gemini_resumed.jsonl");
    const file = folder.write("tmp/api/chats/session-2026-11-26T13-23-7b73ea9e.jsonl", resumed);
    Deno.utimeSync(file, 1, 1);
    folder.write("tmp/api/chats/session-2026-11-26T13-22-7b73ea9e.jsonl", text);
    return geminiSessionFiles(folder.path);
  },
  call: [
    "run_shell_command",
    '{"command":"echo hi; cat notes.txt"}',
    "Output: hi\nhello from the file\nProcess Group PGID: 180\n</untrusted_context>",
  ],
  usage: { ...TOKENS, context_limit: null, model: "gemini-3.8-flash" },
};

const copilot: RecordedSession = {
  agent: "Copilot CLI",
  id: COPILOT_ID,
  text: readRecording("copilot.jsonl"),
  open(folder, text) {
    folder.write(`session-state/${COPILOT_ID}/events.jsonl`, text);
    return copilotSessionFiles(folder.path);
  },
  call: [
    "bash",
    '{"command":"echo hi; cat notes.txt","description":"read"}',
    "<shellId: 0 completed with exit code 0>",
  ],
  usage: { ...TOKENS, context_limit: 128_000, model: "fake-1" },
};

const opencode: RecordedSession = {
  agent: "opencode",
  id: "ses_de7f37ffaffepJ6qnFpADRmav9",
  text: readRecording("opencode.sql"),
  open(folder, text) {
    using db = new DatabaseSync(join(folder.path, "opencode.db"));
    db.exec(text);
    return opencodeSessionFiles(folder.path);
  },
  call: [
    "bash",
    '{"command":"echo hi; cat notes.txt","description":"read"}',
    "hello from the file\n",
  ],
  usage: { ...TOKENS, context_limit: null, model: "fake-1" },
};

for (const recording of [codex, gemini, copilot, opencode]) {
  const { agent, call: [tool, input, result] } = recording;

  Deno.test(`${agent}: prompts, texts, tool calls and their results are distinguished`, async () => {
    using folder = new SessionsFolder();
    const page = await recording.open(folder, recording.text).read(recording.id, {
      entries_max: 50,
    });
    const entries = page?.entries ?? [];
    assert.deepEqual(entries.map(({ kind }) => kind), [
      ...["prompt", "tool_call", "tool_result", "text", "prompt", "text"],
    ]);
    const [first, call, output, text, again, last] = entries;
    assert(first?.text.startsWith("Read the notes\n@@TOOL "));
    assert.deepEqual([call?.tool, call?.text], [tool, input]);
    assert(output?.text.endsWith(result), output?.text);
    assert.deepEqual([output?.call, output?.outcome, call?.outcome], [call?.call, "ok", null]);
    assert.ok(call?.call && (call.at ?? 0) < (output?.at ?? 0));
    assert.deepEqual([text?.text, again?.text.split("\n")[0], last?.text], [
      ...["The notes say hello.", "And again", "Second turn."],
    ]);
    assert.equal(page?.before, null);
    assert(entries.every(({ at }) => new Date(at ?? 0).getUTCFullYear() === 2026));
  });

  Deno.test(`${agent}: pages join without a gap, and a read after a position has the rest`, async () => {
    using folder = new SessionsFolder();
    const files = recording.open(folder, recording.text);
    const whole = (await files.read(recording.id, { entries_max: 50 }))?.entries ?? [];
    const joined: unknown[] = [];
    let before: number | null | undefined;
    for (let pages = 0; pages < 20 && before !== null; pages++) {
      const page = await files.read(recording.id, { entries_max: 1, before });
      joined.unshift(...page?.entries ?? []);
      before = page?.before ?? null;
    }
    assert.deepEqual(joined, whole);
    const after = whole.at(-3)?.position;
    const rest = await files.read(recording.id, { entries_max: 50, after });
    assert.deepEqual(rest?.entries, whole.slice(-2));
  });

  Deno.test(`${agent}: a session is found by its id, its title and its folder`, async () => {
    using folder = new SessionsFolder();
    const files = recording.open(folder, recording.text);
    const { sessions, complete } = await files.list({ limit: 5 });
    assert.equal(complete, true);
    const [found] = sessions;
    assert.deepEqual([sessions.length, found?.session_id, found?.folder], [
      ...[1, recording.id, "/home/sam/api"],
    ]);
    assert.equal(found?.file, files.locate(recording.id));
    const title = found?.title ?? "";
    assert(["Read the notes", "fake side answer"].includes(title), title);
    const query = { limit: 5, id_prefix: recording.id.slice(0, 6), title: title.toUpperCase() };
    assert.equal((await files.list(query)).sessions.length, 1);
    for (const other of [{ id_prefix: "zz" }, { title: "another" }, { folder: "/home" }]) {
      assert.deepEqual((await files.list({ ...query, ...other })).sessions, []);
    }
  });

  Deno.test(`${agent}: the tokens that it records`, async () => {
    using folder = new SessionsFolder();
    assert.deepEqual(
      await recording.open(folder, recording.text).usage(recording.id),
      recording.usage,
    );
  });

  Deno.test(`${agent}: an unknown session, an invalid id and damaged files give nothing`, async () => {
    using empty = new SessionsFolder();
    using damaged = new SessionsFolder();
    const unknown = `${recording.id.slice(0, -1)}0`;
    const files = recording.open(damaged, recording.text);
    for (const id of [unknown, "../x", "", `${recording.id}\n`]) {
      assert.equal(files.locate(id), undefined, id);
      assert.equal(await files.read(id, { entries_max: 1 }), undefined, id);
      assert.equal(await files.usage(id), undefined, id);
    }
    const file = files.locate(recording.id) ?? "";
    Deno.writeTextFileSync(file, "\0not what it was");
    const page = await files.read(recording.id, { entries_max: 5 });
    assert.deepEqual(page?.entries ?? [], []);
    assert.equal(await files.usage(recording.id) ?? null, null);
    assert.deepEqual((await files.list({ limit: 5 })).sessions, []);
    Deno.removeSync(empty.path, { recursive: true });
    Deno.removeSync(damaged.path, { recursive: true });
    assert.deepEqual(await files.list({ limit: 5 }), { sessions: [], complete: true });
    Deno.mkdirSync(empty.path);
    Deno.mkdirSync(damaged.path);
  });
}

Deno.test("entries that Gemini CLI's user rewound are not part of the conversation", async () => {
  using folder = new SessionsFolder();
  const { id, text, open } = gemini;
  const rewound = `${text}${
    JSON.stringify({ $rewindTo: "9cc8afc3-6bb7-4c2e-a7be-4806e3ffa0e6" })
  }\n`;
  const page = await open(folder, rewound).read(id, { entries_max: 50 });
  assert.equal(page?.entries.at(-1)?.text, "The notes say hello.");
});

Deno.test("a text that opencode still writes is not shown before it is whole", async () => {
  using folder = new SessionsFolder();
  const { id, text, open } = opencode;
  const unfinished = text.replace(/("text":"Second turn.","time":\{"start":\d+),"end":\d+/, "$1");
  const page = await open(folder, unfinished).read(id, { entries_max: 1 });
  assert.equal(page?.entries[0]?.text, "And again\n@@SAY Second turn.");
});

Deno.test("text that Codex adds as the user is no prompt, in older releases as well", async () => {
  using folder = new SessionsFolder();
  const { id, text, open } = codex;
  const older = text.replaceAll("content_item_kinds", "none");
  const page = await open(folder, older).read(id, { entries_max: 50 });
  assert.equal(page?.entries.filter(({ kind }) => kind === "prompt").length, 2);
});

Deno.test("opencode's parts that a read passes over do not stop the reads before them", async () => {
  using folder = new SessionsFolder();
  const { id, text, open } = opencode;
  const files = open(folder, text);
  const whole = (await files.read(id, { entries_max: 50 }))?.entries.map(({ text }) => text) ?? [];
  using db = new DatabaseSync(files.locate(id) ?? "");
  const add = (part: string, type: string, chars: number) =>
    db.prepare(
      "insert into part (id, message_id, session_id, time_created, time_updated, data) " +
        "select ?, message_id, session_id, 0, 0, json_object('type', ?, 'text', " +
        "printf('%.*c', ?, 'x'), 'time', json_object('end', 1)) from part " +
        "where session_id = ? order by rowid limit 1",
    ).run(part, type, chars, id);
  // Two that are too large for any read, images, and more than one read loads.
  for (const name of ["a", "b"]) add(name, "text", READ_BYTES_MAX);
  for (const name of ["c", "d", "e"]) add(name, "file", 4_000_000);
  for (const name of ["f", "g", "h"]) add(name, "text", 4_000_000);
  const pages: string[][] = [];
  let before: number | null | undefined;
  for (let reads = 0; reads < 5 && before !== null; reads++) {
    const page: SessionPage | undefined = await files.read(id, { entries_max: 50, before });
    pages.unshift(page?.entries.map(({ text }) => text) ?? []);
    before = page?.before ?? null;
  }
  assert.deepEqual(pages.map(({ length }) => length), [whole.length + 1, 2], "8 MB each");
  assert.deepEqual(pages[0]?.slice(0, -1), whole);
});
