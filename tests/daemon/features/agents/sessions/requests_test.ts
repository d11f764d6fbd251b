/** The requests and entries that agents recorded: each once, in any pieces of their files. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { claudeSessionFiles } from "../../../../../daemon/features/agents/claude_code/session_files.ts";
import { codexSessionFiles } from "../../../../../daemon/features/agents/codex/session_files.ts";
import { copilotSessionFiles } from "../../../../../daemon/features/agents/copilot/session_files.ts";
import { geminiSessionFiles } from "../../../../../daemon/features/agents/gemini/session_files.ts";
import { opencodeSessionFiles } from "../../../../../daemon/features/agents/opencode/session_files.ts";
import type {
  ModelRequest,
  RequestCursor,
} from "../../../../../daemon/features/agents/sessions/requests.ts";
import type {
  SessionEntry,
  SessionFiles,
} from "../../../../../daemon/features/agents/sessions/session_files.ts";
import { RecentRequests } from "../../../../../daemon/features/usage/recent.ts";
import { Chance } from "../../../../support/seeded_random.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

const CLAUDE_ID = "11111111-2222-4333-8444-555555555555";
const CODEX_ID = "01a21805-df95-7963-af5c-f73d6119bf61";
const COPILOT_ID = "22222222-2222-4333-8444-555555555555";
const GEMINI_ID = "7b73ea9e-47da-4e28-be2f-c99dd9f341ab";
const OPENCODE_ID = "ses_de7f37ffaffepJ6qnFpADRmav9";
const ROLLOUT = `sessions/2026/11/26/rollout-2026-11-26T13-22-47-${CODEX_ID}.jsonl`;

interface Recording {
  readonly agent: string;
  readonly id: string;
  /** The file that grows; undefined for a database. */
  readonly file: string;
  readonly text: string;
  readonly open: (folder: string) => SessionFiles;
  readonly requests: number;
  readonly model: string;
  /** The kinds of tokens that the agent does not record. */
  readonly unrecorded: readonly string[];
}

const CHATS = "tmp/api/chats";
const RECORDINGS: readonly Recording[] = [
  {
    agent: "Claude Code",
    id: CLAUDE_ID,
    file: `projects/-home-sam-api/${CLAUDE_ID}.jsonl`,
    text: readRecording("claude_code.jsonl"),
    open: (folder) => claudeSessionFiles([folder]),
    requests: 4,
    model: "claude-opus-5-5",
    unrecorded: [],
  },
  {
    agent: "Codex",
    id: CODEX_ID,
    file: ROLLOUT,
    text: readRecording("codex.jsonl"),
    open: codexSessionFiles,
    requests: 4,
    model: "fake-1",
    unrecorded: [],
  },
  {
    agent: "Gemini CLI",
    id: GEMINI_ID,
    file: `${CHATS}/session-2026-11-26T13-22-7b73ea9e.jsonl`,
    text: readRecording("gemini.jsonl"),
    open: geminiSessionFiles,
    requests: 3,
    model: "gemini-3.8-flash",
    unrecorded: ["cached_input_write_tokens"],
  },
  {
    agent: "Copilot CLI",
    id: COPILOT_ID,
    file: `session-state/${COPILOT_ID}/events.jsonl`,
    text: readRecording("copilot.jsonl"),
    open: copilotSessionFiles,
    requests: 3,
    model: "fake-1",
    unrecorded: ["reasoning_tokens"],
  },
];

/** Reads a session as the daemon does: only what was recorded since the last reading. */
class SessionReader {
  readonly #files: SessionFiles;
  readonly #id: string;
  readonly #cursors = new Map<string, RequestCursor>();
  readonly #recent = new Map<string, RecentRequests>();
  readonly #known: Set<number>;
  #position = -1;
  readonly requests: ModelRequest[] = [];
  readonly entries: SessionEntry[] = [];
  input = 0;
  output = 0;

  constructor(files: SessionFiles, id: string, known = new Set<number>()) {
    this.#files = files;
    this.#id = id;
    this.#known = known;
  }

  async read(): Promise<this> {
    const parts = this.#files.readNew(this.#id, {
      cursorOf: (file) => this.#cursors.get(file),
      entries_after: this.#position,
    });
    for await (const { file, requests, entries, cursor, position, isReplaced } of parts) {
      this.#cursors.set(file, cursor);
      const after = isReplaced ? -1 : this.#position;
      this.entries.push(...entries.filter((entry) => entry.position > after));
      this.#position = position ?? this.#position;
      const recent = new RecentRequests(this.#recent.get(file)?.toString());
      this.#recent.set(file, recent);
      for (const request of requests) {
        const growth = recent.count(request, (key) => {
          const isNew = !this.#known.has(key);
          this.#known.add(key);
          return isNew;
        });
        if (growth?.isFirst) this.requests.push(request);
        this.input += growth?.tokens.input_tokens ?? 0;
        this.output += growth?.tokens.output_tokens ?? 0;
      }
    }
    return this;
  }
}

for (const { agent, id, file, text, open, requests, model, unrecorded } of RECORDINGS) {
  Deno.test(`${agent}: each request is read with its time, its model and its tokens`, async () => {
    using folder = new SessionsFolder();
    folder.write(file, text);
    const reader = await new SessionReader(open(folder.path), id).read();
    assert.deepEqual([reader.requests.length, reader.input, reader.output], [
      ...[requests, 100 * requests, 20 * requests],
    ]);
    for (const request of reader.requests) {
      assert.equal(request.model, model);
      assert.equal(new Date(request.at ?? 0).getUTCFullYear(), 2026);
      const missing = Object.entries(request.tokens).filter(([, count]) => count === null);
      assert.deepEqual(missing.map(([kind]) => kind), unrecorded);
    }
  });

  Deno.test(`${agent}: a file read in pieces has the requests and entries of the whole file`, async () => {
    const bytes = new TextEncoder().encode(text);
    for (let seed = 1; seed <= 20; seed++) {
      using folder = new SessionsFolder();
      const chance = new Chance(seed);
      const reader = new SessionReader(open(folder.path), id);
      const path = folder.write(file, "");
      for (let at = 0; at < bytes.length;) {
        const end = Math.min(bytes.length, at + 1 + chance.below(20_000));
        Deno.writeFileSync(path, bytes.subarray(at, end), { append: true });
        at = end;
        await reader.read();
      }
      assert.deepEqual([seed, reader.requests.length, reader.input, reader.output], [
        ...[seed, requests, 100 * requests, 20 * requests],
      ]);
      const whole = (await open(folder.path).read(id, { entries_max: 10_000 }))?.entries ?? [];
      // Gemini CLI writes a message again when its tools have run.
      const isWhole = ({ position }: SessionEntry) =>
        agent !== "Gemini CLI" || whole.some((entry) => entry.position === position);
      assert.ok(whole.length > 0);
      assert.deepEqual(reader.entries.filter(isWhole), whole);
    }
  });

  Deno.test(`${agent}: a file that is written anew adds only what is new`, async () => {
    using folder = new SessionsFolder();
    const path = folder.write(file, text);
    const reader = await new SessionReader(open(folder.path), id).read();
    Deno.writeTextFileSync(path, text + text);
    await reader.read();
    Deno.writeTextFileSync(path, text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
    await reader.read();
    assert.deepEqual([reader.requests.length, reader.input], [requests, 100 * requests]);
  });
}

Deno.test("opencode: each complete answer is read once, and those of subagents", async () => {
  using folder = new SessionsFolder();
  const file = join(folder.path, "opencode.db");
  using db = new DatabaseSync(file);
  db.exec(readRecording("opencode.sql"));
  const reader = await new SessionReader(opencodeSessionFiles(folder.path), OPENCODE_ID).read();
  assert.deepEqual([reader.requests.length, reader.input, reader.output], [3, 300, 60]);
  const files = opencodeSessionFiles(folder.path);
  const whole = (await files.read(OPENCODE_ID, { entries_max: 10_000 }))?.entries ?? [];
  assert.ok(whole.some(({ kind }) => kind === "tool_result"));
  assert.deepEqual(reader.entries, whole);
  await reader.read();
  assert.equal(reader.requests.length, 3);
  const again = reader.entries.slice(whole.length);
  assert.deepEqual(again.filter(({ kind }) => kind.startsWith("tool_")), []);
  const copy = db.prepare("select * from session where id = ?").get(OPENCODE_ID) ?? {};
  const child = { ...copy, id: "ses_child", parent_id: OPENCODE_ID };
  const columns = Object.keys(child);
  db.prepare(`insert into session (${columns.join()}) values (${columns.map(() => "?").join()})`)
    .run(...Object.values(child));
  const answer = (done: boolean) =>
    JSON.stringify({
      role: "assistant",
      modelID: "small",
      time: { created: 1, ...(done && { completed: 1_795_699_830_000 }) },
      tokens: { input: 5, output: 2, reasoning: 1, cache: { read: 40, write: 3 } },
    });
  const add = db.prepare("insert into message values (?, 'ses_child', ?, ?, ?)");
  add.run("msg_child", 1_795_699_830_000, 1_795_699_830_000, answer(false));
  await reader.read();
  assert.equal(reader.requests.length, 3, "an answer that is still written");
  db.prepare("update message set data = ?, time_updated = time_updated + 1 where id = 'msg_child'")
    .run(answer(true));
  await reader.read();
  assert.deepEqual(reader.requests.at(-1), {
    key: "msg_child",
    at: 1_795_699_830_000,
    model: "small",
    tokens: {
      input_tokens: 48,
      cached_input_read_tokens: 40,
      cached_input_write_tokens: 3,
      output_tokens: 3,
      reasoning_tokens: 1,
    },
  });
});

const line = (json: unknown) => `${JSON.stringify(json)}\n`;

function claudeAnswer(id: string, output_tokens: number, more: object = {}): string {
  const usage = { input_tokens: 10, output_tokens, cache_read_input_tokens: 90 };
  const message = { id, model: "m", usage };
  return line({ type: "assistant", timestamp: "2026-11-28T10:00:00.000Z", message, ...more });
}

Deno.test("Claude Code's blocks of one answer count once, with the tokens of the last", async () => {
  using folder = new SessionsFolder();
  const path = folder.write(`projects/p/${CLAUDE_ID}.jsonl`, claudeAnswer("a", 1));
  const reader = await new SessionReader(claudeSessionFiles([folder.path]), CLAUDE_ID).read();
  assert.deepEqual([reader.input, reader.output], [100, 1]);
  const more = claudeAnswer("b", 5) + claudeAnswer("a", 40) + claudeAnswer("a", 40);
  Deno.writeTextFileSync(path, more, { append: true });
  await reader.read();
  assert.deepEqual([reader.requests.length, reader.input, reader.output], [2, 200, 45]);
});

Deno.test("Claude Code's fork counts only its own requests, its subagents all of theirs", async () => {
  using folder = new SessionsFolder();
  const fork = "22222222-2222-4333-8444-555555555555";
  const first = claudeAnswer("a", 1) + claudeAnswer("a", 7);
  folder.write(`projects/p/${CLAUDE_ID}.jsonl`, first);
  folder.write(`projects/p/${fork}.jsonl`, first + claudeAnswer("b", 2));
  const subagent = claudeAnswer("c", 3, { isSidechain: true, agentId: "a01cc96c33923ab64" });
  folder.write(`projects/p/${fork}/subagents/agent-a01cc96c33923ab64.jsonl`, subagent);
  const known = new Set<number>();
  const files = claudeSessionFiles([folder.path]);
  const before = await new SessionReader(files, CLAUDE_ID, known).read();
  const after = await new SessionReader(files, fork, known).read();
  assert.deepEqual([before.output, after.output], [7, 5]);
  assert.deepEqual(after.requests.map(({ key }) => key), ["b", "c"]);
});

Deno.test("requests of two sessions count both, even if they happen to have the same id", async () => {
  using folder = new SessionsFolder();
  const other = "22222222-2222-4333-8444-555555555555";
  folder.write(`projects/p/${CLAUDE_ID}.jsonl`, claudeAnswer("a", 1));
  const later = claudeAnswer("a", 2, { timestamp: "2026-11-28T10:00:01.000Z" });
  folder.write(`projects/p/${other}.jsonl`, later);
  const known = new Set<number>();
  const files = claudeSessionFiles([folder.path]);
  const outputs: number[] = [];
  for (const id of [CLAUDE_ID, other]) {
    outputs.push((await new SessionReader(files, id, known).read()).output);
  }
  assert.deepEqual(outputs, [1, 2]);
});

/** The lines of a rollout of a release that has only sums. */
function codexSums(
  id: string,
  totals: readonly number[],
  { timestamp, ...meta }: { timestamp: string; forked_from_id?: string },
): string {
  const tokens = (count: number) => ({ input_tokens: count, output_tokens: 1 });
  return line({ timestamp: "t", type: "session_meta", payload: { id, cwd: "/", ...meta } }) +
    totals.map((total) =>
      line({
        timestamp,
        type: "event_msg",
        payload: {
          type: "token_count",
          info: { total_token_usage: tokens(total), last_token_usage: tokens(100) },
        },
      })
    ).join("");
}

Deno.test("Codex's repeated sums, and those that a fork has from its session, count once", async () => {
  using folder = new SessionsFolder();
  const fork = CODEX_ID.replace(/.$/, "2");
  folder.write(
    ROLLOUT,
    codexSums(CODEX_ID, [100, 100, 200], { timestamp: "2026-11-28T10:00:00.000Z" }),
  );
  const own = codexSums(fork, [100, 200, 300], {
    timestamp: "2026-11-28T11:00:00.000Z",
    forked_from_id: CODEX_ID,
  });
  folder.write(ROLLOUT.replace(CODEX_ID, fork), own);
  const known = new Set<number>();
  const files = codexSessionFiles(folder.path);
  const before = await new SessionReader(files, CODEX_ID, known).read();
  const after = await new SessionReader(files, fork, known).read();
  assert.deepEqual([before.input, after.input], [200, 100]);
});

Deno.test("Codex's subagents count for the session that started them", async () => {
  using folder = new SessionsFolder();
  const child = CODEX_ID.replace(/.$/, "3");
  folder.write(ROLLOUT, readRecording("codex.jsonl"));
  const meta = (session_id: string) => ({ session_id, id: child });
  const rollout = (session_id: string) =>
    line({ timestamp: "t", type: "session_meta", payload: meta(session_id) }) +
    line({
      timestamp: "2026-11-28T10:00:00.000Z",
      type: "token_usage_record",
      payload: { response_id: `r ${session_id}`, usage: { input_tokens: 7, output_tokens: 1 } },
    });
  const path = ROLLOUT.replace(CODEX_ID, child).replace("11/26", "11/27");
  folder.write(path, rollout(CODEX_ID));
  folder.write(path.replace(/.(?=\.jsonl)/, "4"), rollout(child));
  const reader = await new SessionReader(codexSessionFiles(folder.path), CODEX_ID).read();
  assert.equal(reader.input, 407);
});

Deno.test("Gemini CLI's resumed session counts both files, and those of its subagents", async () => {
  using folder = new SessionsFolder();
  const head = (id: string) => line({ sessionId: id, kind: "main" });
  const message = (id: string) =>
    line({
      id,
      timestamp: "2026-11-28T10:00:00.000Z",
      type: "gemini",
      content: "",
      model: "g",
      tokens: { input: 10, output: 2, cached: 4, thoughts: 3 },
    });
  const text = head(GEMINI_ID) + message("a") + message("a");
  folder.write(`${CHATS}/session-1-7b73ea9e.jsonl`, text);
  folder.write(`${CHATS}/session-2-7b73ea9e.jsonl`, head(GEMINI_ID) + message("b"));
  folder.write(`${CHATS}/${GEMINI_ID}/child.jsonl`, head("child") + message("c"));
  const reader = await new SessionReader(geminiSessionFiles(folder.path), GEMINI_ID).read();
  assert.deepEqual([reader.requests.length, reader.input, reader.output], [3, 30, 15]);
});
