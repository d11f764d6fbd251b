/** Reading the files of agents, and what a hostile program could put in their place. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { readBelow, readHead, readTail, readWhole } from "../../../daemon/host/agent_files.ts";
import { createNativeTransport } from "../../../daemon/features/agents/claude_code/native_transport.ts";
import {
  peerToken,
  type Session,
  sessionOf,
} from "../../../daemon/features/agents/claude_code/registry.ts";
import { resumeClaude } from "../../../daemon/features/agents/claude_code/transcripts.ts";
import { AppServer } from "../../../daemon/features/agents/codex/app_server.ts";
import { rolloutOf } from "../../../daemon/features/agents/codex/rollouts.ts";
import * as copilot from "../../../daemon/features/agents/copilot/sessions.ts";
import * as gemini from "../../../daemon/features/agents/gemini/sessions.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { CodexHome, THREAD } from "../../support/agents/codex_server.ts";
import { silent } from "../../support/host/private_tmux.ts";

const NOBODY_UID = 65_534;
/** Time until a writer opens the pipe; a blocking open to read would wait for it. */
const WRITER_COMES_S = 3;
const ID = "0a1b2c3d-0000-4000-8000-000000000001";
const OF_ID = { runtime_session_id: ID, path: "/w" };
const SESSION: Session = { pid: Deno.pid, sessionId: "s-1", cwd: "/w", version: "2.1.329" };

async function inFolder(test: (dir: string) => unknown): Promise<void> {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-files-" });
  try {
    await test(dir);
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
}

function write(path: string, text: string): string {
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeTextFileSync(path, text);
  return path;
}

/** Each file that an agent writes and the daemon reads: its path, and its reader. */
// deno-fmt-ignore
const FILE_READERS: [what: string, file: string, read: (dir: string) => unknown][] = [
  ["Claude Code's session entry", `sessions/${Deno.pid}.json`,                  (dir) => sessionOf([dir], Deno.pid)],
  ["Claude Code's key",           `sessions/${Deno.pid}.abc.key`,               (dir) => peerToken([dir], SESSION)],
  ["Claude Code's transcript",    `projects/x/${ID}.jsonl`,                     (dir) => resumeClaude([dir], OF_ID)],
  ["Codex's rollout",             `sessions/2026/1/1/rollout-1-${THREAD}.jsonl`, (dir) => rolloutOf(dir, { runtime_session_id: THREAD, path: "/w" }, "resume")],
  ["Copilot's lock",              `session-state/${ID}/inuse.7.lock`,           (dir) => new copilot.SessionRecords(dir).activityOf(ID, 7)],
  ["Copilot's records",           `session-state/${ID}/events.jsonl`,           doingInCopilot],
  ["a session of Copilot's",      `session-state/${ID}/events.jsonl`,           (dir) => copilot.resumeOf(dir, OF_ID)],
  ["Gemini's projects",           "projects.json",                              (dir) => gemini.lastModelText(dir, OF_ID)],
  ["Gemini's records",            "tmp/w/chats/session-1-0a1b2c3d.json",        saidInGemini],
];

function doingInCopilot(dir: string): unknown {
  write(join(dir, "session-state", ID, "inuse.7.lock"), "7");
  return new copilot.SessionRecords(dir).activityOf(ID, 7);
}

function saidInGemini(dir: string): unknown {
  write(join(dir, "projects.json"), JSON.stringify({ projects: { "/w": "w" } }));
  return gemini.lastModelText(dir, OF_ID);
}

for (const [what, file, read] of FILE_READERS) {
  Deno.test(`a pipe in place of ${what} does not block its reader`, () =>
    inFolder(async (dir) => {
      const pipe = join(dir, file);
      Deno.mkdirSync(dirname(pipe), { recursive: true });
      new Deno.Command("mkfifo", { args: [pipe] }).outputSync();
      const script = `sleep ${WRITER_COMES_S}; : > "$1"`;
      const writer = new Deno.Command("sh", { args: ["-c", script, "sh", pipe] }).spawn();
      const since = performance.now();
      await read(dir);
      const held_ms = performance.now() - since;
      writer.kill("SIGKILL");
      await writer.status;
      assert.ok(held_ms < WRITER_COMES_S * 1000 / 2, `held up for ${held_ms} ms`);
    }));
}

Deno.test("a file is read in full, from its head or from its end, up to a size", () =>
  inFolder((dir) => {
    const file = write(join(dir, "file"), "0123456789");
    assert.deepEqual([readWhole(file, 10), readWhole(file, 9)], ["0123456789", undefined]);
    assert.deepEqual([readHead(file, 4), readHead(file, 99)], ["0123", "0123456789"]);
    assert.deepEqual([readTail(file, 4), readTail(file, 99)], ["6789", "0123456789"]);
    write(file, "");
    assert.deepEqual([readWhole(file, 10), readHead(file, 10), readTail(file, 10)], ["", "", ""]);
  }));

Deno.test("a file below a folder is read, and no path or link leads out of the folder", () =>
  inFolder((dir) => {
    const root = join(dir, "api"), secret = write(join(dir, "secret"), "key");
    write(join(root, "src/a.ts"), "text\u00e9");
    Deno.symlinkSync(secret, join(root, "link"));
    Deno.symlinkSync(dir, join(root, "up"));
    Deno.symlinkSync(root, join(dir, "alias"));
    Deno.writeFileSync(join(root, "binary"), new Uint8Array([1, 0, 2]));
    Deno.writeFileSync(join(root, "latin"), new Uint8Array([0xe9]));
    const read = (path: string, folder = root) => readBelow(folder, path, 10);
    assert.deepEqual(read(join(root, "src/a.ts")), { text: "text\u00e9" });
    assert.deepEqual(read(join(dir, "alias/src/a.ts")), { text: "text\u00e9" });
    assert.deepEqual(read(join(root, "src/a.ts"), join(dir, "alias")), { text: "text\u00e9" });
    assert.deepEqual(read(join(root, "new.ts")), { text: null });
    assert.deepEqual(read(join(root, "new/folder/a.ts")), { text: null });
    const outside = { unread: "it is outside of the agent's folder" };
    for (const path of [secret, `${root}/../secret`, join(root, "up/secret"), "/none/at/all"]) {
      assert.deepEqual(read(path), outside, path);
    }
    assert.deepEqual(read(join(dir, "api2/x")), outside);
    assert.deepEqual(read(join(root, "link")), { unread: "it is a symbolic link" });
    assert.deepEqual(read(join(root, "src")), { unread: "it is no regular file" });
    assert.deepEqual(read(join(root, "binary")), { unread: "it is no text" });
    assert.deepEqual(read(join(root, "latin")), { unread: "it is no text" });
    assert.deepEqual(read(write(join(root, "long"), "12345678901")), { unread: "it has 11 bytes" });
    assert.deepEqual(read(secret, ""), { unread: "the agent's folder is not known" });
  }));

Deno.test("a link, a folder, a device, a socket and a missing path are not read", () =>
  inFolder((dir) => {
    const secret = write(join(dir, "secret"), "secret");
    Deno.symlinkSync(secret, join(dir, "link"));
    using _listener = Deno.listen({ transport: "unix", path: join(dir, "socket") });
    for (const path of ["link", "socket", "gone", "secret/file", ".", "/dev/zero"]) {
      const at = path.startsWith("/") ? path : join(dir, path);
      assert.deepEqual([readWhole(at, 99), readHead(at, 99), readTail(at, 99)], [
        undefined,
        undefined,
        undefined,
      ]);
    }
    Deno.mkdirSync(join(dir, "folder"));
    write(join(dir, "folder", "file"), "text");
    Deno.symlinkSync("folder", join(dir, "short"));
    assert.equal(readWhole(join(dir, "short", "file"), 99), "text");
  }));

const byRoot = Deno.uid() === 0;
const only = byRoot ? "" : " (skipped: only root can make files of another user)";

Deno.test({
  name: `another user's word on where a session listens is not believed${only}`,
  ignore: !byRoot,
  fn: () =>
    inFolder((dir) => {
      const procStart = startTimeOf(Deno.pid) ?? "";
      const entry = JSON.stringify({ ...SESSION, procStart });
      const file = write(join(dir, "sessions", `${Deno.pid}.json`), entry);
      assert.equal(sessionOf([dir], Deno.pid)?.sessionId, "s-1");
      Deno.chownSync(file, NOBODY_UID, NOBODY_UID);
      assert.equal(sessionOf([dir], Deno.pid), undefined);
    }),
});

Deno.test("the native transport refuses a session's socket that other users could replace", () =>
  inFolder(async (dir) => {
    const config_dir = join(dir, "config"), messagingSocketPath = join(dir, "open", "cc.sock");
    Deno.mkdirSync(dirname(messagingSocketPath));
    using _listener = Deno.listen({ transport: "unix", path: messagingSocketPath });
    const procStart = startTimeOf(Deno.pid) ?? "";
    const entry = { ...SESSION, procStart, peerProtocol: 1, messagingSocketPath };
    write(join(config_dir, "sessions", `${Deno.pid}.json`), JSON.stringify(entry));
    const transport = createNativeTransport({
      clock: systemClock,
      log: silent,
      config_dirs: [config_dir],
      tested_version: SESSION.version,
    });
    const peer = {
      peer_id: "p",
      backend: "claude-code" as const,
      tmux_socket: null,
      pane_id: null,
      agent_pid: Deno.pid,
      agent_started: procStart,
      runtime_session_id: "s-1",
      turn_state: null,
      metadata: {},
    };
    const outgoing = { kind: "notify", human: false, framed: "x" } as const;
    const check = () => transport.check(peer, { ...outgoing, delivery_id: "d", proof_id: "d" });
    assert.deepEqual(await check(), { ready: true });
    Deno.chmodSync(dirname(messagingSocketPath), 0o777);
    assert.deepEqual(await check(), { ready: false, reason: "foreign_socket" });
  }));

Deno.test("a Codex server's socket that other users could replace is not connected to", async () => {
  await using home = new CodexHome().listen();
  const met = await AppServer.connect(home.dir, systemClock);
  assert.ok(typeof met !== "string", "a socket of this user alone is connected to");
  met[Symbol.dispose]();
  Deno.chmodSync(home.dir, 0o777);
  assert.equal(await AppServer.connect(home.dir, systemClock), "foreign_socket");
});
