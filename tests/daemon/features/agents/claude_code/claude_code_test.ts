/** Claude Code's adapter without Claude Code: hooks, registry, socket and screens. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import type { AgentPeer, OutgoingMessage } from "../../../../../daemon/features/agents/adapter.ts";
import {
  claudeCodeHooks,
  readHook,
} from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { createNativeTransport } from "../../../../../daemon/features/agents/claude_code/native_transport.ts";
import { TESTED_VERSION } from "../../../../../daemon/features/agents/claude_code/agent.ts";
import {
  isTestedVersion,
  sessionOf,
  sessionOfPeer,
} from "../../../../../daemon/features/agents/claude_code/registry.ts";
import type { JsonObject } from "../../../../../daemon/features/agents/settings_files/json.ts";
import { claudeScreen } from "../../../../../daemon/features/agents/claude_code/claude_code.ts";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { silent, until } from "../../../../support/host/private_tmux.ts";
import { answerTo } from "../../../../support/agents/hook_answers.ts";

const golden = (path: string) =>
  Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));

// Hooks, as the real program sent them.

const WRITE = { tool: "Write", input: { file_path: "LAB/proj/claude/perm.txt", content: "x" } };
// deno-fmt-ignore
const REPORTS: [event: string, expected: Record<string, unknown>][] = [
  // Inside a turn or between turns.
  ["SessionStart",      { source: "compact", model: "claude-opus-5-5" }],
  ["SessionEnd",        { end_reason: "other" }],
  ["UserPromptSubmit",  { turn_state: "working" }],
  ["PostToolBatch",     { is_within_turn: true, after_request: true }],
  ["Stop",              { turn_state: "idle", may_hold_turn: true, after_request: true, no_subagents: true }],
  ["Notification",      { turn_state: "idle" }],
  ["PermissionRequest", { turn_state: "awaiting_input", waits_for: { kind: "permission", detail: WRITE.tool }, permission: WRITE }],
];

for (const [event, expected] of REPORTS) {
  Deno.test(`a real ${event} payload is read`, () => {
    const payload = JSON.parse(golden(`hooks/claude-code/${event}.json`));
    const { prompt: _, last_message: __, transcript_path, ...report } = readHook(payload);
    const { session_id, cwd } = payload;
    assert.deepEqual(report, { event, session_id, cwd, ...expected });
    assert.equal(transcript_path, payload.transcript_path);
  });
}

const common = { session_id: "s-1", transcript_path: "/t", cwd: "/w" };

Deno.test("a prompt and a last message are taken unchanged", () => {
  const prompt = '[mesh] <peer-message id="ask-1">a\tb</peer-message>';
  const submitted = { ...common, hook_event_name: "UserPromptSubmit", prompt };
  assert.equal(readHook(submitted).prompt, prompt);
  const stopped = { ...common, hook_event_name: "Stop", stop_hook_active: false };
  assert.equal(readHook({ ...stopped, last_assistant_message: "Done" }).last_message, "Done");
});

Deno.test("an open dialog is awaiting_input, and /clear ends no process", () => {
  const dialog = { hook_event_name: "Notification", notification_type: "permission_prompt" };
  assert.equal(readHook({ ...common, ...dialog }).turn_state, "awaiting_input");
  const cleared = { ...common, hook_event_name: "SessionEnd", reason: "clear" };
  assert.equal(readHook(cleared).end_reason, undefined);
});

Deno.test("an unknown event is read by name, and one without a session is refused", () => {
  const later = readHook({ ...common, hook_event_name: "SomethingNew", more: [1] });
  assert.deepEqual([later.event, later.turn_state], ["SomethingNew", undefined]);
  assert.throws(() => readHook({ hook_event_name: "Stop", stop_hook_active: false }));
  assert.throws(() => readHook("not an object"));
});

Deno.test("context is added to a prompt; a stop is blocked once, and never again", () => {
  const submitted = { ...common, hook_event_name: "UserPromptSubmit", prompt: "hello" };
  assert.deepEqual(answerTo(claudeCodeHooks, submitted, "[mesh] text"), {
    hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "[mesh] text" },
  });
  const stop = { ...common, hook_event_name: "Stop" };
  assert.deepEqual(answerTo(claudeCodeHooks, { ...stop, stop_hook_active: false }, "ask-1 waits"), {
    decision: "block",
    reason: "ask-1 waits",
  });
  assert.deepEqual(
    answerTo(claudeCodeHooks, { ...stop, stop_hook_active: true }, "ask-1 waits"),
    {},
  );
  assert.deepEqual(answerTo(claudeCodeHooks, { ...stop, stop_hook_active: false }, null), {});
  const notified = { hook_event_name: "Notification", notification_type: "idle_prompt" };
  assert.deepEqual(answerTo(claudeCodeHooks, { ...common, ...notified }, "[mesh] text"), {});
});

// The registry, and the socket that it names.

/** A session registry that names this process, and the socket of a session. */
class Registry implements Disposable {
  readonly #dir = Deno.makeTempDirSync({ prefix: "mesh-claude-" });
  readonly config_dirs = [this.#dir];
  readonly socket = join(this.#dir, "cc.sock");
  readonly peer: AgentPeer = {
    peer_id: "peer-1",
    backend: "claude-code",
    tmux_socket: null,
    pane_id: null,
    agent_pid: Deno.pid,
    agent_started: startTimeOf(Deno.pid) ?? null,
    runtime_session_id: "s-1",
    turn_state: null,
    metadata: {},
  };

  constructor(changed: JsonObject = {}) {
    Deno.mkdirSync(join(this.#dir, "sessions"));
    this.write(JSON.stringify({ ...this.#entry, ...changed }));
  }

  get #entry(): JsonObject {
    return {
      pid: Deno.pid,
      sessionId: "s-1",
      cwd: "/w",
      procStart: startTimeOf(Deno.pid) ?? "",
      version: "2.1.329",
      peerProtocol: 1,
      status: "idle",
      messagingSocketPath: this.socket,
      aFieldOfALaterVersion: { is: "no trouble" },
    };
  }

  write(text: string): void {
    Deno.writeTextFileSync(join(this.#dir, "sessions", `${Deno.pid}.json`), text);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#dir, { recursive: true });
  }
}

/** A session's end of the socket: reads one connection, and closes it at the end if told to. */
function listenAt(path: string, { hangs_up }: { hangs_up: boolean }) {
  const listener = Deno.listen({ transport: "unix", path });
  let text = "";
  let open: Deno.UnixConn | undefined;
  const reading = (async () => {
    open = await listener.accept();
    const decoder = new TextDecoder();
    const bytes = new Uint8Array(65_536);
    for (let got = await open.read(bytes); got !== null; got = await open.read(bytes)) {
      text += decoder.decode(bytes.subarray(0, got), { stream: true });
    }
    if (hangs_up) open.close();
  })();
  return {
    received: () => text,
    async [Symbol.asyncDispose]() {
      await reading;
      if (!hangs_up) open?.close();
      listener.close();
    },
  };
}

/** Leaves a socket without a listener, as a killed session does. */
function leaveStaleSocket(path: string): void {
  const listener = Deno.listen({ transport: "unix", path: `${path}.open` });
  Deno.linkSync(`${path}.open`, path); // Closing the listener removes its own name.
  listener.close();
}

const OUTGOING: OutgoingMessage = {
  delivery_id: "dlv-1",
  proof_id: "ask-1",
  kind: "ask",
  human: false,
  framed: '[mesh] <peer-message type="ask" id="ask-1">Tabs\tand\n\nlines, ümläute ⏎</peer-message>',
};

function nativeTransport({ config_dirs }: Registry, clock = systemClock) {
  return createNativeTransport({
    clock,
    log: silent,
    config_dirs,
    tested_version: TESTED_VERSION,
  });
}

/** The last line that a session received, which is its user line. */
function userLine(received: string): unknown {
  return JSON.parse(received.trimEnd().split("\n").at(-1) ?? "");
}

Deno.test("the registry finds a live session by its process, and by no other", () => {
  using registry = new Registry({ status: "waiting" });
  assert.equal(sessionOf(registry.config_dirs, Deno.pid)?.status, "waiting");
  assert.equal(sessionOfPeer(registry.config_dirs, registry.peer)?.sessionId, "s-1");
  assert.equal(sessionOf(registry.config_dirs, Deno.ppid), undefined);
});

Deno.test("an entry that a killed session left behind is ignored", () => {
  using reused = new Registry({ procStart: "1" });
  assert.equal(sessionOf(reused.config_dirs, Deno.pid), undefined);
  using renamed = new Registry({ pid: 1 });
  assert.equal(sessionOf(renamed.config_dirs, Deno.pid), undefined);
});

Deno.test("an incomplete entry, or one of unknown form or status, does not throw", () => {
  using registry = new Registry({ status: "dreaming" });
  assert.equal(sessionOf(registry.config_dirs, Deno.pid)?.status, undefined);
  for (const text of ["", '{"pid":', "[]", '{"pid":"x"}']) {
    registry.write(text);
    assert.equal(sessionOf(registry.config_dirs, Deno.pid), undefined);
  }
});

Deno.test("a socket receives the whole text in one user line, and the session hangs up", async () => {
  using registry = new Registry();
  await using session = listenAt(registry.socket, { hangs_up: true });
  const transport = nativeTransport(registry);
  assert.deepEqual(await transport.check(registry.peer, OUTGOING), { ready: true });
  assert.deepEqual(await transport.deliver(registry.peer, OUTGOING), { state: "sent" });
  await until("the line", () => session.received().endsWith("\n"));
  assert.deepEqual(userLine(session.received()), {
    type: "user",
    message: { role: "user", content: OUTGOING.framed },
  });
});

Deno.test("a text of 256 kB arrives completely", async () => {
  using registry = new Registry();
  await using session = listenAt(registry.socket, { hangs_up: true });
  const framed = `[mesh] ask-1 ${"ü".repeat(131_072)}`;
  const receipt = await nativeTransport(registry).deliver(registry.peer, { ...OUTGOING, framed });
  assert.deepEqual(receipt, { state: "sent" });
  await until("the line", () => session.received().endsWith("\n"));
  assert.deepEqual(userLine(session.received()), {
    type: "user",
    message: { role: "user", content: framed },
  });
});

Deno.test("delivery does not wait for a session that does not hang up", async () => {
  using registry = new Registry();
  await using session = listenAt(registry.socket, { hangs_up: false });
  const clock = new FakeClock();
  const delivering = nativeTransport(registry, clock).deliver(registry.peer, OUTGOING);
  await until("the line", () => session.received().endsWith("\n"));
  await clock.advance(1_000);
  assert.deepEqual(await delivering, { state: "sent" });
});

Deno.test("the session's own token is sent first, and never that of an older process", async () => {
  for (const procStart of [startTimeOf(Deno.pid) ?? "", "1"]) {
    using registry = new Registry();
    const key = join(registry.config_dirs[0] ?? "", "sessions", `${Deno.pid}.abc.key`);
    Deno.writeTextFileSync(key, JSON.stringify({ peerToken: "tok-1", procStart }));
    await using session = listenAt(registry.socket, { hangs_up: true });
    assert.deepEqual(await nativeTransport(registry).deliver(registry.peer, OUTGOING), {
      state: "sent",
    });
    await until("the line", () => session.received().endsWith("\n"));
    const types = session.received().trimEnd().split("\n").map((line) => JSON.parse(line).type);
    assert.deepEqual(types, procStart === "1" ? ["user"] : ["auth", "user"]);
  }
});

Deno.test("a session that hangs up during the write leaves the message unclear", async () => {
  using registry = new Registry();
  using listener = Deno.listen({ transport: "unix", path: registry.socket });
  const framed = `[mesh] ask-1 ${"x".repeat(900_000)}`; // More than a socket buffers.
  const delivering = nativeTransport(registry).deliver(registry.peer, { ...OUTGOING, framed });
  (await listener.accept()).close();
  assert.deepEqual(await delivering, { state: "unclear", reason: "write_failed" });
});

Deno.test("a socket that is gone, or has no listener, is refused", async () => {
  using registry = new Registry();
  const transport = nativeTransport(registry);
  const gone = { state: "refused", reason: "no_socket" };
  assert.deepEqual(await transport.deliver(registry.peer, OUTGOING), gone);
  leaveStaleSocket(registry.socket);
  assert.deepEqual(await transport.check(registry.peer, OUTGOING), { ready: true });
  assert.deepEqual(await transport.deliver(registry.peer, OUTGOING), {
    state: "refused",
    reason: "connection_refused",
  });
});

// deno-fmt-ignore
const UNREADY: [what: string, entry: JsonObject, peer: Partial<AgentPeer>, reason: string][] = [
  ["an older version",       { version: "2.1.328" },             {},                            "version_unproved"],
  ["another line",           { version: "2.2.0" },               {},                            "version_unproved"],
  ["another protocol",       { peerProtocol: 2 },                {},                            "version_unproved"],
  ["no protocol",            { peerProtocol: null },             {},                            "no_session"],
  ["no socket",              { messagingSocketPath: "/nowhere" }, {},                           "no_socket"],
  ["a file for a socket",    { messagingSocketPath: "/etc/hostname" }, {},                      "no_socket"],
  ["a stale entry",          { procStart: "1" },                 {},                            "no_session"],
  ["an agent without a pid", {},                                 { agent_pid: null },           "no_process"],
  ["a pid of another start", {},                                 { agent_started: "1" },        "no_session"],
  ["another conversation",   {},                                 { runtime_session_id: "s-0" }, "session_changed"],
];

for (const [what, entry, changed, reason] of UNREADY) {
  Deno.test(`the native transport refuses ${what} before the first byte`, async () => {
    using registry = new Registry(entry);
    const peer = { ...registry.peer, ...changed };
    const transport = nativeTransport(registry);
    assert.deepEqual(await transport.check(peer, OUTGOING), { ready: false, reason });
    assert.deepEqual(await transport.deliver(peer, OUTGOING), { state: "refused", reason });
  });
}

Deno.test("a line longer than the socket accepts is refused, not lost", async () => {
  using registry = new Registry();
  leaveStaleSocket(registry.socket);
  const framed = `[mesh] ask-1 ${"x".repeat(1_048_576)}`;
  const readiness = await nativeTransport(registry).check(registry.peer, { ...OUTGOING, framed });
  assert.deepEqual(readiness, { ready: false, reason: "too_large" });
});

Deno.test("a newer patch is accepted if it speaks the tested protocol", () => {
  const session = { pid: 1, sessionId: "s", cwd: "/", peerProtocol: 1 };
  const proved = ["2.1.329", "2.1.330", "2.1.1000"];
  for (const version of proved) {
    assert.equal(isTestedVersion({ ...session, version }, TESTED_VERSION), true, version);
  }
  const unproved = ["2.1.328", "2.2.0", "3.0.0", "2.1.330-beta", "12.1.400"];
  for (const version of unproved) {
    assert.equal(isTestedVersion({ ...session, version }, TESTED_VERSION), false, version);
  }
});

// Screens, as captured.

// deno-fmt-ignore
const SCREENS: [name: string, dialog: boolean, empty: boolean | undefined, collapsed: boolean][] = [
  ["empty",           false, true,      false],
  ["busy",            false, true,      false],
  ["draft",           false, false,     false],
  ["draft-two-lines", false, false,     false],
  ["pasted",          false, false,     true ],
  ["permission",      true,  undefined, false],
  ["trust",           true,  undefined, false],
];

for (const [name, dialog, empty, collapsed] of SCREENS) {
  Deno.test(`the captured screen "${name}" is read correctly`, () => {
    const lines = golden(`screens/claude-code/${name}.txt`).trimEnd().split("\n");
    const view = { above: [], lines, cursor_x: 0, cursor_y: 0 };
    assert.equal(claudeScreen.dialogOpen(view), dialog);
    assert.equal(claudeScreen.composerEmpty(view), empty);
    assert.equal(claudeScreen.collapsedPaste?.(view), collapsed);
  });
}
