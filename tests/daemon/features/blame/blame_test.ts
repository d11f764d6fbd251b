/** Blame: from a line to its commit, agent, messages and origin, with how each step is known. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { noteSummary, spansIn } from "../../../../daemon/features/blame/lines.ts";
import { openAsk } from "protocol/asks/contract.ts";
import { listInbox } from "protocol/inbox.ts";
import type { Blame } from "protocol/origins/blame.ts";
import { addPeer, ask, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { claudeSessionFiles } from "../../../../daemon/features/agents/claude_code/session_files.ts";
import { SessionsFolder } from "../../../support/sessions/recorded_sessions.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { framed } from "../../../support/sessions/usage_world.ts";
import { FakeSockets, world } from "../../../support/world.ts";

const PIDS = { api: 41, web: 42 } as const;
const NAMES = ["api", "web"] as const;
const SESSIONS = {
  api: "11111111-2222-4333-8444-555555555555",
  web: "22222222-2222-4333-8444-555555555555",
} as const;
const TERMINAL = { "x-mesh-terminal": "77" };

/** The agents api and web in a repository with a file, and a person at a terminal. */
async function openWorld(
  settings: Readonly<Record<string, string>> = {},
  hasProcesses = false,
) {
  const sessions = new SessionsFolder();
  const repo = new TestRepository();
  const sockets = new FakeSockets();
  sockets.holders = [77];
  const w = world({
    hooks: { "claude-code": claudeCodeHooks },
    settings: {
      "human.name": "sam",
      "spawn.allowed_paths": JSON.stringify([repo.parent]),
      ...settings,
    },
    sessionFiles: { "claude-code": claudeSessionFiles([sessions.path]) },
    at_terminal: true,
    sockets,
    git: realGit,
  });
  for (const pid of Object.values(PIDS)) w.processes.start(pid);
  for (const name of NAMES) {
    const agent_pid = PIDS[name];
    const more = { backend: "claude-code", circle: "main", path: repo.folder };
    await addPeer(w, name, {
      ...more,
      ...hasProcesses && { agent_pid },
      runtime_session_id: SESSIONS[name],
    });
  }
  reportSessions(w);
  const hook = (name: keyof typeof PIDS, event: string, more: object) =>
    w.post("/hooks/claude-code", {
      session_id: SESSIONS[name],
      cwd: repo.folder,
      hook_event_name: event,
      ...more,
    });
  return { w, repo, sessions, sockets, hook };
}

/** The same world, with what its agents do. */
async function blameWorld(...options: Parameters<typeof openWorld>) {
  const { w, repo, sessions, sockets, hook } = await openWorld(...options);
  return {
    w,
    repo,
    sockets,
    /** An agent's prompt holds a message. */
    reads: (name: keyof typeof PIDS, id: string) =>
      hook(name, "UserPromptSubmit", { prompt: framed(id) }),
    /** An agent asks for leave to run a command, and a person allows it. */
    async allowed(name: keyof typeof PIDS) {
      const tool_input = { command: "make" };
      const asked = hook(name, "PermissionRequest", { tool_name: "Bash", tool_input });
      await w.clock.settle();
      const [item] = (await w.call(listInbox, { query: {} })).items;
      const reply = { surface: "cli", text: "", option_id: "allow" };
      await w.post(`/inbox/${item?.item_id}/reply`, reply, TERMINAL);
      await asked;
    },
    /** An agent commits everything with its shell. */
    async commits(name: keyof typeof PIDS, message = "a commit"): Promise<string> {
      repo.git("add", "-A");
      const stdout = repo.git("commit", "-m", message);
      await hook(name, "PostToolUse", {
        tool_name: "Bash",
        tool_input: { command: `git commit -m "${message}"` },
        tool_response: { stdout, stderr: "" },
      });
      return repo.git("rev-parse", "HEAD");
    },
    /** An agent commits everything, and only its session file says so; returns the commit. */
    commitsInSession(name: keyof typeof PIDS, prompt: string): string {
      repo.git("add", "-A");
      const result = repo.git("commit", "-m", "a commit");
      const timestamp = new Date(w.clock.now()).toISOString();
      const call = { type: "tool_use", id: "toolu_1", name: "Bash" };
      const input = { command: "git add -A && git commit -m 'a commit'" };
      const ended = { type: "tool_result", tool_use_id: "toolu_1", content: result };
      const lines = [
        { type: "user", message: { role: "user", content: prompt } },
        { type: "assistant", message: { content: [{ ...call, input }] } },
        { type: "user", message: { content: [ended] } },
      ].map((line) => JSON.stringify({ ...line, timestamp }));
      sessions.write(`projects/p/${SESSIONS[name]}.jsonl`, `${lines.join("\n")}\n`);
      return repo.git("rev-parse", "HEAD");
    },
    async blame(file: string, first: number, last?: number, headers: object = TERMINAL) {
      const query = new URLSearchParams({ path: join(repo.folder, file), first: String(first) });
      if (last !== undefined) query.set("last", String(last));
      const response = await w.fetch(`/blame?${query}`, { headers: { ...headers } });
      return await response.json() as Blame & { error?: string };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      sessions[Symbol.dispose]();
      repo[Symbol.dispose]();
    },
  };
}

const shown = ({ lines }: Blame, at = 0) =>
  lines[at]?.links.map(({ kind, how, name }) => `${kind} ${how}${name ? ` ${name}` : ""}`);

Deno.test("a line leads over two agents back to the app that began the work [4.blame.chain]", async () => {
  await using at = await blameWorld();
  const { w, repo } = at;
  const app = { peer_id: null, name: "mcp-0123456789ab" };
  const { peer_id } = w.daemon.directory.findAnywhere("api");
  w.daemon.ctx.db.transact((tx) =>
    w.daemon.origins.include(tx, peer_id, app, { via: "relay" }, undefined)
  );
  const second = await ask(w, "api", "web", "Build it");
  await at.reads("web", second);
  repo.write("src/a.ts", "one\ntwo\n");
  const id = await at.commits("web", "Add a\n\nCo-Authored-By: Claude <noreply@example.com>");
  const found = await at.blame("src/a.ts", 2);
  assert.equal(found.state, "ok", found.detail ?? "");
  assert.deepEqual(shown(found), [
    "commit git sam",
    "trailer claimed",
    "agent reported web",
    "message reported api",
    "gap unknown",
    "origin recorded mcp-0123456789ab",
  ]);
  assert.equal(found.lines[0]?.links[0]?.id, id);
  assert.match(
    found.lines[0]?.links[2]?.text ?? "",
    /^reported this commit, in its session \S+ \(/,
  );
  assert.match(found.lines[0]?.links.at(-1)?.text ?? "", /^app mcp-0123456789ab/);
});

Deno.test("the messages between a person and the agent that wrote are listed, with approvals", async () => {
  await using at = await blameWorld({ "approvals.gated_tools": "Bash" });
  const { w, repo } = at;
  const sent = { from_peer: "sam", to_peer: "api", text: "Build it" };
  const first = (await (await w.post("/ask", sent, TERMINAL)).json()).correlation_id;
  await at.reads("api", first);
  await w.clock.advance(1000);
  const write = { from_peer: "api", to_peer: "web", text: "Write it" };
  const { correlation_id: second } = await w.daemon.call(openAsk, { body: write });
  await at.reads("web", String(second));
  repo.write("a.txt", "one\n");
  await at.allowed("web");
  await w.clock.advance(1000);
  await at.commits("web");
  const found = await at.blame("a.txt", 1);
  assert.deepEqual(shown(found), [
    "commit git sam",
    "agent reported web",
    "approval recorded sam",
    "message reported api",
    "message recorded sam",
    "origin recorded sam",
  ]);
  assert.equal(found.lines[0]?.links[2]?.text, "Bash: allowed");
  assert.match(found.lines[0]?.links.at(-1)?.text ?? "", /^person .*at terminal/);
});

Deno.test("a commit that only the session file of an agent names leads to the message of its turn", async () => {
  await using at = await blameWorld();
  const { w, repo } = at;
  const sent = { from_peer: "sam", to_peer: "web", text: "Build it" };
  const { correlation_id } = await (await w.post("/ask", sent, TERMINAL)).json();
  await at.reads("web", correlation_id);
  await w.clock.advance(1000);
  repo.write("a.txt", "one\n");
  at.commitsInSession("web", framed(correlation_id));
  const found = await at.blame("a.txt", 1);
  const chain = ["commit git sam", "agent reported web", "message reported sam"];
  const text = `reported this commit, in its session ${SESSIONS.web} (claude-code)`;
  assert.equal(found.lines[0]?.links[1]?.text, text);
  assert.deepEqual(shown(found), [...chain, "origin recorded sam"]);
});

Deno.test("a commit in a turn without a message leads to what the agent read last, by its time", async () => {
  await using at = await blameWorld();
  const { w, repo } = at;
  const id = await ask(w, "api", "web", "Build it");
  await at.reads("web", id);
  await w.clock.advance(1000);
  repo.write("a.txt", "one\n");
  at.commitsInSession("web", "Go on, and add a file");
  const found = await at.blame("a.txt", 1);
  assert.deepEqual(shown(found)?.slice(1, 3), ["agent reported web", "message inferred api"]);
  repo.write("b.txt", "two\n");
  at.commitsInSession(
    "api",
    `[mesh] <peer-message type="ask" id="${id}">Of another</peer-message>`,
  );
  const other = shown(await at.blame("b.txt", 1));
  assert.deepEqual(other?.slice(1), ["agent reported api", "gap unknown"]);
});

Deno.test("checks of answers are listed below their ask, with what they found", async () => {
  await using at = await blameWorld({
    "jobs.checks": JSON.stringify({ green: { argv: ["true"], files: [] } }),
  });
  const { w, repo } = at;
  const sent = { from_peer: "sam", to_peer: "web", text: "Build it", prove: ["green"] };
  const { correlation_id } = await (await w.post("/ask", sent, TERMINAL)).json();
  await at.reads("web", correlation_id);
  repo.write("a.txt", "one\n");
  await at.commits("web");
  const found = await at.blame("a.txt", 1);
  assert.deepEqual(shown(found)?.slice(2, 4), ["message reported sam", "check recorded green"]);
  assert.equal(found.lines[0]?.links[3]?.text, "awaiting");
});

Deno.test("an agent learns of no messages of another circle", async () => {
  await using at = await blameWorld();
  const { w, repo } = at;
  const id = await ask(w, "api", "web", "Build it");
  await at.reads("web", id);
  repo.write("a.txt", "one\n");
  await at.commits("web");
  const blameIn = async (circle: string, agent_pid: number) => {
    w.processes.start(agent_pid);
    await addPeer(w, circle, { backend: "codex", circle, path: repo.folder, agent_pid });
    at.sockets.holders = [agent_pid];
    const path = join(repo.folder, "a.txt");
    const query = new URLSearchParams({ path, first: "1", from_peer: circle });
    return shown(await (await w.fetch(`/blame?${query}`)).json())?.slice(1, 3);
  };
  assert.deepEqual(await blameIn("main", 51), ["agent reported web", "message reported api"]);
  assert.deepEqual(await blameIn("far", 52), ["agent reported web", "gap unknown"]);
});

Deno.test("lines without any agent, and lines that are not committed, say so", async () => {
  await using at = await blameWorld();
  at.repo.write("a.txt", "one\ntwo\n");
  at.repo.commit();
  at.repo.write("a.txt", "one\ntwo\nthree\n");
  at.repo.write("new.txt", "n\n");
  const found = await at.blame("a.txt", 1, 9);
  assert.deepEqual(found.lines.map(({ first, last }) => [first, last]), [[1, 2], [3, 3]]);
  assert.deepEqual(shown(found), ["commit git sam", "gap unknown"]);
  assert.deepEqual(shown(found, 1), ["uncommitted git", "gap unknown"]);
  assert.deepEqual(shown(await at.blame("new.txt", 1)), ["uncommitted git", "gap unknown"]);
  assert.equal((await at.blame("a.txt", 99)).state, "no_line");
  assert.equal((await at.blame("none.txt", 1)).state, "no_file");
});

Deno.test("an agent asks about its own repository only, and a program about none", async () => {
  await using at = await blameWorld({}, true);
  at.repo.write("a.txt", "one\n");
  at.repo.commit();
  at.sockets.holders = [PIDS.api];
  const path = join(at.repo.folder, "a.txt");
  const own = await at.w.fetch(
    `/blame?${new URLSearchParams({ path, first: "1", from_peer: "api" })}`,
  );
  assert.equal(own.status, 200);
  const far = new URLSearchParams({ path: "/etc/passwd", first: "1", from_peer: "api" });
  assert.equal((await (await at.w.fetch(`/blame?${far}`)).json()).error, "not_your_files");
  at.sockets.holders = [];
  assert.equal((await at.blame("a.txt", 1, 1, {})).error, "human_not_proven");
});

Deno.test("notes of git-ai name the session and the tool of a line, and other notes their text", async () => {
  await using at = await blameWorld();
  at.repo.write("src/a.ts", "one\ntwo\n");
  const id = at.repo.commit();
  const log = 'src/a.ts\n  abcd1234abcd1234 1-2\nsrc/b.ts\n  ffff 1\n---\n{"schema_version":' +
    '"authorship/3.0.0","prompts":{"abcd1234abcd1234":{"agent_id":{"tool":"cursor","model":"m-1"}}}}';
  at.repo.git("notes", "--ref=ai", "add", "-m", log, id);
  at.repo.git("notes", "--ref=agent-trace", "add", "-m", "conversation https://example.com", id);
  const found = await at.blame("src/a.ts", 2);
  const notes = found.lines[0]?.links.filter(({ kind }) => kind === "note");
  assert.deepEqual(notes?.map(({ id, text }) => [id, text]), [
    ["refs/notes/agent-trace", "conversation https://example.com"],
    ["refs/notes/ai", "session abcd1234abcd1234 of cursor, m-1"],
  ]);
  assert.equal(noteSummary(log, "src/b.ts", 9), noteSummary(log, "none", 1));
});

Deno.test("nothing of a hostile repository runs, and its files do not lead elsewhere", async () => {
  await using at = await blameWorld();
  const { repo } = at;
  repo.write("a.txt", "one\n");
  repo.write(".gitattributes", "*.txt filter=evil diff=evil text\n");
  repo.write(".mailmap", "Root <root@example.com> <sam@example.com>\n");
  repo.write("odd\nname:1.txt", "odd\n");
  const head = repo.commit();
  repo.write("a.txt", "forged\n");
  const forged = repo.commit("Forged");
  repo.git("replace", forged, head);
  for (
    const [name, value] of [
      ["filter.evil.clean", repo.canary("clean")],
      ["filter.evil.smudge", repo.canary("smudge")],
      ["diff.evil.textconv", repo.canary("textconv")],
      ["diff.evil.command", repo.canary("command")],
      ["core.fsmonitor", repo.canary("fsmonitor")],
      ["core.pager", repo.canary("pager")],
      ["blame.ignoreRevsFile", "/etc/passwd"],
      ["mailmap.file", "/etc/passwd"],
    ] as const
  ) repo.git("config", name, value);
  const found = await at.blame("a.txt", 1);
  assert.deepEqual(shown(found), ["commit git sam", "gap unknown"]);
  assert.equal((await at.blame("odd\nname:1.txt", 1)).state, "ok");
  Deno.symlinkSync("/etc/passwd", join(repo.folder, "link.txt"));
  assert.equal((await at.blame("link.txt", 1)).state, "no_repository");
  repo.write("large.txt", new Uint8Array(5_000_000).fill(10));
  assert.equal((await at.blame("large.txt", 1)).state, "no_file");
  assert.equal((await at.blame("a.txt", 1)).lines[0]?.links[0]?.id, forged);
  assert.deepEqual(repo.ran(), []);
});

Deno.test("a million lines are read within the limits", async () => {
  await using at = await blameWorld();
  at.repo.write("many.txt", "a\n".repeat(1_000_000));
  at.repo.commit();
  const found = await at.blame("many.txt", 999_999, 2_000_000);
  assert.deepEqual([found.state, found.lines[0]?.first, found.lines[0]?.last], [
    "ok",
    999_999,
    1_000_000,
  ]);
});

Deno.test("the porcelain form of git blame is read into spans", () => {
  const [one, two] = ["a".repeat(40), "0".repeat(40)];
  const text = `${one} 1 1 2\nauthor x\n\tline\n${one} 2 2\n\tline\n${two} 3 3 1\n\tline\n`;
  assert.deepEqual(spansIn(text), [
    { first: 1, last: 2, commit: one },
    { first: 3, last: 3, commit: null },
  ]);
});
