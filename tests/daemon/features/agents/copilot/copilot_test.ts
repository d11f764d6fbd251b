/** Copilot CLI's adapter without Copilot CLI: hooks, screens, and its sessions on the disk. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { copilotAdapter } from "../../../../../daemon/features/agents/copilot/copilot.ts";
import { copilot } from "../../../../../daemon/features/agents/copilot/agent.ts";
import { copilotHooks } from "../../../../../daemon/features/agents/copilot/hooks.ts";
import { copilotScreen } from "../../../../../daemon/features/agents/copilot/screen.ts";
import {
  resumeOf,
  SessionRecords,
} from "../../../../../daemon/features/agents/copilot/sessions.ts";
import type { AgentPeer } from "../../../../../daemon/features/agents/adapter.ts";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, ask, get, post } from "../../../../support/daemon/peer_clients.ts";
import { outgoingNotification } from "../../../../support/agents/outgoing_message.ts";
import { silent, Terminal } from "../../../../support/host/private_tmux.ts";

function golden(path: string): string {
  return Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));
}

// Hooks, as the real program sent them, each with its name as `mesh hook` puts it in.

const PROMPT = '@@SAY checking\n@@TOOL ping {"text":"hello"}\n@@SAY final answer';
// deno-fmt-ignore
const REPORTS: [event: string, expected: Record<string, unknown>][] = [
  ["sessionStart",        { turn_state: "idle", source: "new" }],
  ["userPromptSubmitted", { turn_state: "working", prompt: PROMPT }],
  ["preToolUse",          { turn_state: "working" }],
  ["permissionRequest",   { permission: { tool: "mesh-probe/ping", input: { text: "hello" } } }],
  ["postToolUse",         { turn_state: "working" }],
  ["notification",        { turn_state: "awaiting_input" }],
  ["agentStop",           { turn_state: "idle" }],
  ["sessionEnd",          { end_reason: "complete" }],
];

for (const [event, expected] of REPORTS) {
  Deno.test(`a real ${event} payload of Copilot CLI is read`, () => {
    const payload = JSON.parse(golden(`hooks/copilot/${event}.json`));
    const { sessionId: session_id, cwd, transcriptPath: transcript_path } = payload;
    const common = { event, session_id, cwd, transcript_path };
    assert.deepEqual(copilotHooks.read(payload), { ...common, ...expected });
  });
}

const ID = "4ece34a9-9295-42f4-88e9-8117639b0c1b";
const common = { sessionId: ID, cwd: "/w" };

Deno.test("Copilot's question is a dialog, its other news is none, a later event is named", () => {
  const notificationHook = (notification_type: string) =>
    copilotHooks.read({ ...common, hookName: "notification", notification_type }).turn_state;
  assert.equal(notificationHook("elicitation_dialog"), "awaiting_input");
  assert.equal(notificationHook("shell_completed"), undefined);
  const later = copilotHooks.read({ ...common, hookName: "somethingNew" });
  assert.deepEqual([later.event, later.turn_state], ["somethingNew", undefined]);
  for (const bad of [{ hookName: "agentStop" }, common, "text", null, []]) {
    assert.throws(() => copilotHooks.read(bad), /session_id|hook_event_name|expected object/i);
  }
});

Deno.test("context goes beside a prompt of Copilot's, and nowhere else", () => {
  const submitted = { ...common, hookName: "userPromptSubmitted", prompt: "hello" };
  assert.deepEqual(copilotHooks.answer(submitted, "[mesh] text"), {
    additionalContext: "[mesh] text",
  });
  assert.deepEqual(copilotHooks.answer(submitted, null), {});
  for (const hookName of ["sessionStart", "arrived", "agentStop"]) {
    const other = { ...common, hookName, source: "new" };
    assert.deepEqual(copilotHooks.answer(other, "[mesh] text"), {});
    assert.equal(copilotHooks.acceptsContext(hookName), false);
  }
});

Deno.test("our own tools need nobody's leave in Copilot, tools of like names do", () => {
  const permissionRequest = (toolName: string) => ({
    ...common,
    hookName: "permissionRequest",
    toolName,
    toolInput: {},
  });
  assert.deepEqual(copilotHooks.answer(permissionRequest("mesh/ack"), null), { behavior: "allow" });
  assert.equal(copilotHooks.read(permissionRequest("mesh/ack")).permission, undefined);
  for (const tool of ["mesh-probe/ping", "mesh", "other/mesh/ack", "bash"]) {
    assert.deepEqual(copilotHooks.answer(permissionRequest(tool), null), {});
    assert.equal(copilotHooks.read(permissionRequest(tool)).permission?.tool, tool);
  }
  assert.deepEqual(copilotHooks.formatDecision?.({ behavior: "allow", message: "" }), {
    behavior: "allow",
  });
  assert.deepEqual(copilotHooks.formatDecision?.({ behavior: "deny", message: "Not today" }), {
    behavior: "deny",
    message: "Not today",
  });
});

Deno.test("a session of Copilot's registers as it arrives, and a prompt proves what it holds", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  const hook = (hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, hookName, ...more });
  await hook("arrived");
  const { peers } = await get(w, "/peers");
  const [peer] = peers.filter(({ backend }: { backend: string }) => backend === "copilot");
  assert.deepEqual([peer.turn_state, peer.path], ["idle", "/w"]);
  await addPeer(w, "ada");
  const id = await ask(w, "ada", peer.name, "Which port?");
  const began = await hook("sessionStart", { source: "new" });
  assert.equal(began.additionalContext, undefined, "kept for the prompt that follows");
  const { additionalContext } = await hook("userPromptSubmitted", { prompt: "Go on" });
  assert.match(additionalContext, new RegExp(`id="${id}".*Which port`));
  await hook("agentStop");
  const { stages } = await get(w, `/traces/${id}`);
  assert(stages.some(({ stage }: { stage: string }) => stage === "seen"));
  await hook("sessionEnd", { reason: "user_exit" });
  assert.equal((await get(w, `/peers/${peer.peer_id}`)).status, "offline");
});

Deno.test("the end of a session that its process has left already is the end of nobody", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  w.processes.start(7);
  const headers = { "x-mesh-agent-pid": "7" };
  const hook = (sessionId: string, hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, sessionId, hookName, ...more }, headers);
  await hook("s-1", "arrived");
  await hook("s-2", "arrived"); // `/clear`: the new session's server is the first to speak.
  await hook("s-1", "sessionEnd", { reason: "user_exit" });
  const { peers } = await get(w, "/peers");
  const found = peers.filter(({ backend }: { backend: string }) => backend === "copilot");
  assert.deepEqual(
    found.map((peer: Record<string, unknown>) => [peer["status"], peer["agent_pid"]]),
    [["online", 7]],
  );
});

Deno.test("a subagent of Copilot's is no peer, takes no message, and asks as its session", async () => {
  await using w = world({ hooks: { copilot: copilotHooks } });
  const inside = { agentId: "a-1", parentAgentId: ID, agentType: "general-purpose" };
  const hook = (hookName: string, more = {}) =>
    post(w, "/hooks/copilot", { ...common, hookName, ...more });
  const within = (hookName: string, more = {}) =>
    hook(hookName, { ...inside, sessionId: "a-1", ...more });
  await within("userPromptSubmitted", { prompt: "Look" });
  const names = async () => {
    const { peers } = await get(w, "/peers");
    return peers.filter(({ backend }: { backend: string }) => backend === "copilot");
  };
  assert.equal((await names()).length, 0, "its session was not told of yet");
  await hook("arrived");
  const [peer] = await names();
  await addPeer(w, "ada");
  const id = await ask(w, "ada", peer.name, "Which port?");
  await hook("agentStop");
  const prompted = await within("userPromptSubmitted", { prompt: `Look at ${id}` });
  assert.equal(prompted.additionalContext, undefined);
  assert.deepEqual((await names()).map((one: Record<string, unknown>) => one["turn_state"]), [
    "idle",
  ]);
  const permissionRequest = { toolName: "mesh/ack", toolInput: {} };
  assert.equal((await within("permissionRequest", permissionRequest)).behavior, "allow");
  const fromSubagent = { ...permissionRequest, parentAgentId: "a-0" };
  assert.equal((await within("permissionRequest", fromSubagent)).behavior, "allow");
  const report = copilotHooks.read({
    ...common,
    ...inside,
    sessionId: "a-1",
    hookName: "permissionRequest",
    toolName: "bash",
    toolInput: {},
  });
  assert.deepEqual([report.session_id, report.permission?.tool], [ID, "bash"]);
  const started = { ...common, ...inside, hookName: "subagentStart" };
  assert.deepEqual(copilotHooks.read(started).event, "subagentStart", "told of by its session");
  assert.equal((await names()).length, 1);
});

// Screens, as captured.

// deno-fmt-ignore
const SCREENS: [name: string, at: [number, number], dialog: boolean | undefined, empty: boolean | undefined][] = [
  ["empty",             [2, 47],   false,     true],
  ["busy",              [2, 47],   false,     true],
  ["draft",             [16, 47],  false,     false],
  ["draft-two-lines",   [7, 47],   false,     false],
  ["pasted",            [23, 47],  false,     false],
  ["long",              [102, 47], false,     false],
  ["slash",             [3, 47],   false,     false],
  ["shell",             [2, 47],   undefined, undefined],
  ["search",            [19, 47],  undefined, undefined],
  ["sidebar",           [51, 47],  undefined, undefined],
  ["help",              [2, 47],   true,      true],
  ["permission",        [159, 49], true,      undefined],
  ["permission-create", [160, 33], true,      undefined],
  ["question",          [160, 38], true,      undefined],
  ["trust",             [7, 4],    true,      undefined],
  ["model",             [107, 49], true,      undefined],
  ["sessions",          [117, 49], true,      undefined],
];

function viewOf(name: string, [cursor_x, cursor_y]: [number, number] = [0, 0]) {
  const lines = golden(`screens/copilot/${name}.txt`).split("\n");
  return { above: [], lines, cursor_x, cursor_y };
}

for (const [name, at, dialog, empty] of SCREENS) {
  Deno.test(`Copilot CLI's captured screen "${name}" is read as what it is`, () => {
    const view = viewOf(name, at);
    assert.equal(copilotScreen.dialogOpen(view), dialog);
    assert.equal(copilotScreen.composerEmpty(view), empty);
    assert.equal(copilotScreen.collapsedPaste?.(view), name === "pasted");
  });
}

Deno.test("Copilot's composer holds what was pasted, and tells when more was typed", () => {
  const draft = viewOf("draft-two-lines", [7, 47]);
  assert(copilotScreen.composerHolds(draft, "one two\nthree"));
  assert(!copilotScreen.composerHolds(draft, "zero one two\nthree"));
  const text = `[mesh] ${"word ".repeat(1_630)}`;
  const long = viewOf("long", [102, 47]);
  assert(copilotScreen.composerHolds(long, text), "it shows the end of a long text only");
  assert(!copilotScreen.composerHolds(long, `${text} and what was typed before it was pasted`));
  assert(!copilotScreen.composerHolds(viewOf("permission"), "touch zz"));
  assert.equal(copilotScreen.composerEmpty(viewOf("empty", [9, 47])), false, "blanks are a draft");
});

// Sessions on the disk, as far as we read them.

const NOON = Date.parse("2026-11-21T12:00:00Z");

/** A record: its type, what it says more, and the subagent whose it is. */
type Recorded = string | [type: string, data: Record<string, unknown>, agentId?: string];

/** A home as Copilot CLI leaves it. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-copilot-" });
  readonly config_dir = join(this.dir, ".copilot");
  readonly records = new SessionRecords(this.config_dir);

  write(path: string, text: string): void {
    const whole = join(this.config_dir, path);
    Deno.mkdirSync(dirname(whole), { recursive: true });
    Deno.writeTextFileSync(whole, text);
  }

  /** A session's records, a second apart. */
  session(records: readonly Recorded[]): void {
    const lines = records.map((record, index) => {
      const [type, data, agentId] = typeof record === "string" ? [record, {}] : record;
      const timestamp = new Date(NOON + index * 1000).toISOString();
      return JSON.stringify({ type, data, agentId, timestamp, id: String(index), parentId: null });
    });
    this.write(`session-state/${ID}/events.jsonl`, lines.map((line) => `${line}\n`).join(""));
  }

  /** The process that has the session open. */
  opened(pid = Deno.pid): this {
    this.write(`session-state/${ID}/inuse.${pid}.lock`, String(pid));
    return this;
  }

  /** What the records say of the session, to the process that has it open. */
  currentTurn() {
    return this.records.activityOf(ID, Deno.pid);
  }

  resume(runtime_session_id = ID, path = "/work/api") {
    return resumeOf(this.config_dir, { runtime_session_id, path });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const START: [string, Record<string, unknown>] = ["session.start", {
  sessionId: ID,
  selectedModel: "gpt-6",
  context: { cwd: "/work/api" },
}];
const [USER_MESSAGE, TURN_START, TURN_END] = [
  "user.message",
  "assistant.turn_start",
  "assistant.turn_end",
];
const ASKED: [string, Record<string, unknown>] = ["permission.requested", { requestId: "1" }];
const SETTLED: [string, Record<string, unknown>] = ["permission.completed", { requestId: "1" }];
const QUESTION: [string, Record<string, unknown>] = ["tool.execution_start", {
  toolCallId: "c",
  toolName: "ask_user",
}];

// deno-fmt-ignore
const TURN_STATES: [what: string, records: Recorded[], turn: string | null][] = [
  ["has just begun",          [START],                                                "idle"],
  ["was spoken to",           [START, USER_MESSAGE],                                          "working"],
  ["is in a turn",            [START, USER_MESSAGE, TURN_START],                                    "working"],
  ["has ended its turn",      [START, USER_MESSAGE, TURN_START, TURN_END],                              "idle"],
  ["asks for permission",     [START, USER_MESSAGE, TURN_START, ASKED, "hook.start"],               "awaiting_input"],
  ["was given it",            [START, USER_MESSAGE, TURN_START, ASKED, SETTLED],                    "working"],
  ["was broken off",          [START, USER_MESSAGE, TURN_START, ASKED, TURN_END, "abort", SETTLED],     "idle"],
  ["asks its user",           [START, USER_MESSAGE, TURN_START, QUESTION],                          "awaiting_input"],
  ["has its answer",          [START, USER_MESSAGE, TURN_START, QUESTION, ["tool.execution_complete", { toolCallId: "c" }]], "working"],
  ["says what we do not know", [["session.whatever", {}]],                            null],
];

for (const [what, records, turn] of TURN_STATES) {
  Deno.test(`the records tell of a session of Copilot's that ${what}`, () => {
    using home = new Home();
    home.opened().session(records);
    assert.equal(home.currentTurn()?.turn_state, turn);
  });
}

Deno.test("a subagent's turns are not the session's, its dialogs are", () => {
  using home = new Home();
  const of = (
    type: string,
    data = {},
  ): [string, Record<string, unknown>, string] => [type, data, "a"];
  home.opened().session([START, USER_MESSAGE, TURN_START, of(TURN_START), of(TURN_END)]);
  assert.equal(home.currentTurn()?.turn_state, "working");
  home.session([START, USER_MESSAGE, TURN_START, of("permission.requested", { requestId: "1" })]);
  assert.equal(home.currentTurn()?.turn_state, "awaiting_input");
  home.session([
    START,
    USER_MESSAGE,
    TURN_START,
    TURN_END,
    of("assistant.message", { model: "small" }),
  ]);
  const { turn_state, model, at } = home.currentTurn() ?? {};
  assert.deepEqual([turn_state, model, at], ["idle", "gpt-6", NOON + 3_000]);
});

Deno.test("records are a process's own, are read from their end, and name the model", () => {
  using home = new Home();
  assert.equal(home.currentTurn(), undefined);
  const padding = Array.from({ length: 500 }, () => ["noise", { text: "x".repeat(400) }] as const);
  const noise = padding.map(([type, data]): [string, Record<string, unknown>] => [type, data]);
  home.session([START, ASKED, ...noise, USER_MESSAGE, ["assistant.message", { model: "gpt-7" }]]);
  assert.equal(home.currentTurn(), undefined, "nobody has it open");
  home.opened(1);
  assert.equal(home.currentTurn(), undefined, "another has it open");
  home.opened();
  const currentTurn = home.currentTurn();
  assert.deepEqual([currentTurn?.turn_state, currentTurn?.model], ["working", "gpt-7"]);
  assert.equal(currentTurn?.at, NOON + 503_000);
  assert.equal(home.records.activityOf("../../x", Deno.pid), undefined);
});

const PEER: AgentPeer = {
  peer_id: "peer-1",
  backend: "copilot",
  tmux_socket: "/none",
  pane_id: "%0",
  agent_pid: Deno.pid,
  agent_started: startTimeOf(Deno.pid) ?? "",
  runtime_session_id: ID,
  turn_state: "working",
  turn_at: NOON,
  metadata: {},
};
const OUTGOING = outgoingNotification("notif-1", "hi");

Deno.test("what a hook has told since stands against older records; an open dialog in them keeps the pane shut", async () => {
  using home = new Home();
  await using terminal = new Terminal();
  const { tmuxServers } = terminal;
  const { config_dir } = home;
  const adapter = copilotAdapter({ tmuxServers, clock: new FakeClock(), log: silent, config_dir });
  home.opened().session([START, USER_MESSAGE, TURN_START, TURN_END]);
  const seen = { alive: true, model: "gpt-6", source: "session records", at: NOON + 3_000 };
  assert.deepEqual(await adapter.observe(PEER), { ...seen, turn_state: "idle" });
  const observed = { ...PEER, turn_at: NOON + 3_000 };
  assert.deepEqual(await adapter.observe(observed), { ...seen, turn_state: null });
  assert.deepEqual(await adapter.observe({ ...PEER, agent_started: "0" }), {
    alive: false,
    turn_state: null,
    source: "process table",
  });
  assert.equal(await adapter.observe({ ...PEER, agent_pid: null }), undefined);
  home.session([START, USER_MESSAGE, TURN_START, ASKED]);
  const [pane] = adapter.transports(observed, OUTGOING);
  assert.deepEqual(await pane?.check(observed, OUTGOING), { ready: false, reason: "dialog_open" });
  assert.deepEqual([adapter.transport(PEER), adapter.transport({ ...PEER, pane_id: null })], [
    "pane",
    "none",
  ]);
});

Deno.test("a session of Copilot's is taken up again once its own records say that it is there", () => {
  using home = new Home();
  const refused = (...of: Parameters<Home["resume"]>) => {
    const resumed = home.resume(...of);
    return resumed.ok ? "resumed" : resumed.reason;
  };
  assert.match(refused(), /^No session 4ece34a9/);
  home.session([START, "session.model_change"]);
  assert.match(refused(), /^Nothing was said/);
  home.session([START, USER_MESSAGE]);
  assert.deepEqual(home.resume(), { ok: true, args: ["--resume", ID] });
  assert.match(refused(ID, "/work/web"), /is at home in \/work\/api$/);
  home.session([START, USER_MESSAGE, ["session.resume", { context: { cwd: "/work/web" } }]]);
  assert.equal(refused(ID, "/work/web"), "resumed");
  home.session([["session.start", { sessionId: "another" }], USER_MESSAGE]);
  assert.match(refused(), /^No session/);
  for (const id of ["latest", "../../x", "--yolo", ""]) assert.match(refused(id), /none of/);
});

Deno.test("Copilot's folder is where its variable says, else in the home", () => {
  assert.equal(copilot.setup?.home({ HOME: "/home/ada" }), "/home/ada/.copilot");
  assert.equal(copilot.setup?.home({ HOME: "/home/ada", COPILOT_HOME: "/srv/cop" }), "/srv/cop");
});
