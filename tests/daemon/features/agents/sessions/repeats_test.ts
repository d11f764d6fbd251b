/** Records that an agent writes again are read once, where they were written first. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { claudeSessionFiles } from "../../../../../daemon/features/agents/claude_code/session_files.ts";
import { codexSessionFiles } from "../../../../../daemon/features/agents/codex/session_files.ts";
import { copilotSessionFiles } from "../../../../../daemon/features/agents/copilot/session_files.ts";
import { Repeats, uuidKey } from "../../../../../daemon/features/agents/sessions/repeats.ts";
import type { SessionFiles } from "../../../../../daemon/features/agents/sessions/session_files.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

const CLAUDE_ID = "11111111-2222-4333-8444-555555555555";
const CODEX_ID = "01a21805-df95-7963-af5c-f73d6119bf61";
const COPILOT_ID = "22222222-2222-4333-8444-555555555555";

interface Agent {
  readonly title: string;
  readonly id: string;
  readonly file: string;
  readonly recorded: string;
  readonly open: (folder: string) => SessionFiles;
  /** The same history as the agent writes it the second time. */
  readonly again?: (text: string) => string;
}

const AGENTS: readonly Agent[] = [
  {
    title: "Claude Code, after a second compaction",
    id: CLAUDE_ID,
    file: `projects/-home-sam-api/${CLAUDE_ID}.jsonl`,
    recorded: readRecording("claude_code.jsonl"),
    open: (folder) => claudeSessionFiles([folder]),
    // The chain of messages has a new beginning, and some fields are new.
    again: (text) => text.replaceAll(/"parentUuid":("[^"]*"|null)/g, '"parentUuid":null'),
  },
  {
    title: "Copilot CLI",
    id: COPILOT_ID,
    file: `session-state/${COPILOT_ID}/events.jsonl`,
    recorded: readRecording("copilot.jsonl"),
    open: copilotSessionFiles,
  },
  {
    title: "Codex, which numbers its lines anew",
    id: CODEX_ID,
    file: `sessions/2026/11/26/rollout-2026-11-26T13-22-47-${CODEX_ID}.jsonl`,
    recorded: withOrdinals(readRecording("codex.jsonl"), 0),
    open: codexSessionFiles,
    again: (text) => withOrdinals(text, 1_000),
  },
];

function withOrdinals(text: string, from: number): string {
  let ordinal = from;
  return text.replaceAll(/^\{("timestamp":"[^"]*",)(?:"ordinal":\d+,)?/gm, (_all, time) => {
    return `{${time}"ordinal":${ordinal++},`;
  });
}

for (const { title, id, file, recorded: text, open, again = (same: string) => same } of AGENTS) {
  Deno.test(`a history that ${title} writes again is not read as new: pages, later entries, tokens`, async () => {
    using folder = new SessionsFolder();
    folder.write(file, text);
    const files = open(folder.path);
    const before = await files.read(id, { entries_max: 100 });
    const usage = await files.usage(id);
    assert(before && before.entries.length > 4, "a conversation");
    folder.write(file, text + again(text));
    const last = before.entries.at(-1)?.position;
    assert.deepEqual(await files.read(id, { entries_max: 100 }), before);
    assert.deepEqual((await files.read(id, { entries_max: 100, after: last }))?.entries, []);
    assert.deepEqual(await files.usage(id), usage);
    // Without what was remembered of the file.
    assert.deepEqual(await open(folder.path).read(id, { entries_max: 100 }), before);
  });
}

Deno.test("after a repeated history, only new records are read", async () => {
  using folder = new SessionsFolder();
  const [agent] = AGENTS;
  assert(agent);
  const { id, file, recorded: text, open } = agent;
  folder.write(file, text + text);
  const files = open(folder.path);
  const last = (await files.read(id, { entries_max: 100 }))?.entries.at(-1)?.position;
  const uuid = "99999999-2222-4333-8444-555555555555";
  const news = { type: "user", uuid, message: { content: "Go on" } };
  folder.write(file, `${text}${text}${JSON.stringify(news)}\n${text}`);
  const page = await files.read(id, { entries_max: 100, after: last });
  assert.deepEqual(page?.entries.map((entry) => entry.text), ["Go on"]);
});

const line = (json: unknown) => `${JSON.stringify(json)}\n`;
const A = "aaaaaaaa-2222-4333-8444-555555555555", B = "bbbbbbbb-2222-4333-8444-555555555555";

Deno.test("a uuid in a tool's input, in a text or of the parent identifies no record", async () => {
  using folder = new SessionsFolder();
  const lines = [
    line({ uuid: A, input: { uuid: B } }),
    line({ parentUuid: A, uuid: B, text: `{"uuid":"${A}"}` }),
    line({ type: "summary", leafUuid: B }),
    line({ type: "summary", leafUuid: B }),
  ];
  const file = folder.write("file.jsonl", lines.join(""));
  assert.deepEqual([...await new Repeats(uuidKey("uuid")).in(file)], []);
});

Deno.test("a replaced file is searched again, and an unfinished line is no repeat", async () => {
  using folder = new SessionsFolder();
  const repeats = new Repeats(uuidKey("uuid"));
  const a = line({ uuid: A }), b = line({ uuid: B });
  const file = folder.write("file.jsonl", a + b);
  assert.deepEqual([...await repeats.in(file)], []);
  folder.write("file.jsonl", a + b + a.slice(0, -1));
  assert.deepEqual([...await repeats.in(file)], []);
  folder.write("file.jsonl", a + b + a);
  assert.deepEqual([...await repeats.in(file)], [(a + b + a).length - 1]);
  folder.write("file.jsonl", b + line({ more: "text" }) + a + line({ and: "more of it" }));
  assert.deepEqual([...await repeats.in(file)], []);
  assert.deepEqual([...await repeats.in(join(folder.path, "none"))], []);
});

Deno.test("a line that is longer than a single read is compared as well", async () => {
  using folder = new SessionsFolder();
  const long = line({ text: "x".repeat(3_000_000), uuid: A });
  const file = folder.write("file.jsonl", long + line({ uuid: B }) + long);
  assert.equal((await new Repeats(uuidKey("uuid")).in(file)).size, 1);
});
