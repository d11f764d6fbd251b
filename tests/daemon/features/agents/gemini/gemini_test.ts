/** Gemini CLI's adapter without Gemini CLI: hooks, screens, sessions and settings. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { geminiHooks } from "../../../../../daemon/features/agents/gemini/hooks.ts";
import {
  geminiScreen,
  turnStateShown,
} from "../../../../../daemon/features/agents/gemini/gemini.ts";
import { resumeOf } from "../../../../../daemon/features/agents/gemini/sessions.ts";
import { edits, hooks, server } from "../../../../../daemon/features/agents/gemini/setup.ts";
import { applyEdit, type SetupPlan } from "../../../../../daemon/features/agents/install.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import {
  type JsonObject,
  Unchangeable,
} from "../../../../../daemon/features/agents/settings_files/json.ts";
import { runSetup } from "../../../../support/cli/run_setup.ts";
import { addPeer, ask, get, post } from "../../../../support/daemon/peer_clients.ts";
import { world } from "../../../../support/world.ts";
import { answerTo } from "../../../../support/agents/hook_answers.ts";

function golden(path: string): string {
  return Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));
}

// Hooks, as the real program sent them.

const PROMPT = '@@SAY checking\n@@TOOL ping {"text":"hello"}\n@@SAY final answer';
// deno-fmt-ignore
const REPORTS: [event: string, expected: Record<string, unknown>][] = [
  ["SessionStart", { turn_state: "idle", source: "startup" }],
  ["SessionEnd",   { end_reason: "exit" }],
  ["BeforeAgent",  { turn_state: "working", prompt: PROMPT }],
  ["BeforeModel",  { turn_state: "working", model: "gemini-2.5-flash", before_request: true }],
  ["BeforeTool",   { turn_state: "working" }],
  ["AfterTool",    { is_within_turn: true, after_request: true }],
  ["Notification", { turn_state: "awaiting_input", waits_for: { kind: "permission" } }],
  ["AfterAgent",   { turn_state: "idle", last_message: "checking \nfinal answer ", may_hold_turn: true, after_request: true }],
];

for (const [event, expected] of REPORTS) {
  Deno.test(`a real ${event} payload of Gemini CLI is read`, () => {
    const payload = JSON.parse(golden(`hooks/gemini/${event}.json`));
    const { session_id, cwd, transcript_path } = payload;
    const common = { event, session_id, cwd, transcript_path };
    assert.deepEqual(geminiHooks.read(payload), { ...common, ...expected });
  });
}

const common = { session_id: "s-1", cwd: "/w" };

Deno.test("/clear ends no process, an unknown event is read by name, a missing session is refused", () => {
  const cleared = { ...common, hook_event_name: "SessionEnd", reason: "clear" };
  assert.equal(geminiHooks.read(cleared).end_reason, undefined);
  const later = geminiHooks.read({ ...common, hook_event_name: "SomethingNew" });
  assert.deepEqual([later.event, later.turn_state], ["SomethingNew", undefined]);
  assert.throws(() => geminiHooks.read({ hook_event_name: "AfterAgent" }));
});

Deno.test("context is added to a prompt, and to nothing else", () => {
  const submitted = { ...common, hook_event_name: "BeforeAgent", prompt: "hello" };
  assert.deepEqual(answerTo(geminiHooks, submitted, "[mesh] text"), {
    hookSpecificOutput: { hookEventName: "BeforeAgent", additionalContext: "[mesh] text" },
  });
  const stopped = { ...common, hook_event_name: "AfterAgent", prompt_response: "Done" };
  assert.deepEqual(answerTo(geminiHooks, stopped, "[mesh] text"), {});
  assert.deepEqual(answerTo(geminiHooks, submitted, null), {});
});

Deno.test("a session of Gemini CLI registers by its hook, and a prompt proves its messages seen", async () => {
  await using w = world({ hooks: { gemini: geminiHooks } });
  const hook = (hook_event_name: string, more = {}) =>
    post(w, "/hooks/gemini", { ...common, hook_event_name, ...more });
  await hook("SessionStart", { source: "startup" });
  await hook("BeforeModel", { llm_request: { model: "gemini-2.5-flash" } });
  const { peers } = await get(w, "/peers");
  const [peer] = peers.filter(({ backend }: { backend: string }) => backend === "gemini");
  assert.deepEqual([peer.turn_state, peer.model, peer.path], ["working", "gemini-2.5-flash", "/w"]);
  await addPeer(w, "ada");
  const id = await ask(w, "ada", peer.name, "Which port?");
  const again = await hook("SessionStart", { source: "resume" });
  assert.equal(
    again.hookSpecificOutput,
    undefined,
    "context of a start is read with the first prompt only",
  );
  const { hookSpecificOutput } = await hook("BeforeAgent", { prompt: "Go on" });
  assert.match(hookSpecificOutput.additionalContext, new RegExp(`id="${id}".*Which port`));
  await hook("AfterAgent", { prompt_response: "Done" });
  const { stages } = await get(w, `/traces/${id}`);
  assert(stages.some(({ stage }: { stage: string }) => stage === "seen"));
  await hook("SessionEnd", { reason: "exit" });
  assert.equal((await get(w, `/peers/${peer.peer_id}`)).status, "offline");
});

// Screens, as captured.

// deno-fmt-ignore
const SCREENS: [name: string, at: [number, number], dialog: boolean | undefined, empty: boolean | undefined, turn: string | undefined][] = [
  ["empty",             [3, 10],  false,     true,      "idle"],
  ["busy",              [3, 16],  false,     true,      "working"],
  ["draft",             [17, 6],  false,     false,     "idle"],
  ["draft-three-lines", [13, 14], false,     false,     "idle"],
  ["pasted",            [28, 28], false,     false,     "idle"],
  ["slash",             [8, 25],  false,     false,     "idle"],
  ["shell",             [3, 28],  undefined, undefined, undefined],
  ["permission",        [0, 27],  true,      undefined, "awaiting_input"],
];

function viewOf(name: string, [cursor_x, cursor_y]: [number, number] = [0, 0]) {
  const lines = golden(`screens/gemini/${name}.txt`).split("\n");
  return { above: [], lines, cursor_x, cursor_y };
}

for (const [name, at, dialog, empty, turn] of SCREENS) {
  Deno.test(`Gemini CLI's captured screen "${name}" is read correctly`, () => {
    const view = viewOf(name, at);
    assert.equal(geminiScreen.dialogOpen(view), dialog);
    assert.equal(geminiScreen.composerEmpty(view), empty);
    assert.equal(geminiScreen.collapsedPaste?.(view), name === "pasted");
    assert.equal(turnStateShown(view), turn);
  });
}

Deno.test("the composer holds the pasted text, and shows when more was typed", () => {
  const view = viewOf("draft-three-lines", [13, 14]);
  assert(geminiScreen.composerHolds(view, "line one\nline two\nthree four"));
  assert(!geminiScreen.composerHolds(view, "line one\nline two\nthree"));
  assert(!geminiScreen.composerHolds(viewOf("permission"), "touch made.txt"));
});

Deno.test("the placeholder's text is a draft if the cursor is behind it", () => {
  assert.equal(geminiScreen.composerEmpty(viewOf("empty", [37, 10])), false);
});

// Sessions on the disk.

const ID = "dc6161d5-cd59-4971-8fe4-84775e0ac063";
const USER_MESSAGE = { id: "1", type: "user", content: [{ text: "hello" }] };
const CONTEXT = { id: "0", type: "user", content: [{ text: "<session_context>\nThis is" }] };

/** A home as Gemini CLI leaves it. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-gemini-" });
  readonly config_dir = join(this.dir, ".gemini");
  readonly env = { HOME: this.dir, PATH: "", MESH_STATE: `${this.dir}/state` };

  constructor() {
    this.write("projects.json", JSON.stringify({ projects: { "/work/api": "api" } }));
  }

  write(path: string, text: string): string {
    const whole = join(this.config_dir, path);
    Deno.mkdirSync(dirname(whole), { recursive: true });
    Deno.writeTextFileSync(whole, text);
    return whole;
  }

  session(lines: readonly unknown[], name = "session-2026-11-21T10-41-dc6161d5.jsonl"): void {
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    this.write(`tmp/api/chats/${name}`, `${text}\n`);
  }

  resume(runtime_session_id = ID, path = "/work/api") {
    return resumeOf(this.config_dir, { runtime_session_id, path });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("a session is resumed by its id if its file exists", () => {
  using home = new Home();
  assert.deepEqual([home.resume().ok], [false]);
  home.session([{ sessionId: ID, kind: "main" }, CONTEXT, USER_MESSAGE]);
  assert.deepEqual(home.resume(), { ok: true, args: ["--resume", ID] });
  const other = `${ID.slice(0, 8)}-0000-0000-0000-000000000000`;
  assert.equal(home.resume(other).ok, false);
  assert.equal(home.resume(ID, "/work/web").ok, false);
});

Deno.test("an older session file, one JSON object, is read as well", () => {
  using home = new Home();
  home.session([{ sessionId: ID, messages: [CONTEXT, USER_MESSAGE] }], "session-x-dc6161d5.json");
  assert.equal(home.resume().ok, true);
});

Deno.test("a session that is empty, malformed or a subagent's cannot be resumed", () => {
  using home = new Home();
  const lines: unknown[][] = [
    [{ sessionId: ID, kind: "main" }, CONTEXT],
    [{ sessionId: ID, kind: "main" }, { ...USER_MESSAGE, content: "/quit" }],
    [{ sessionId: ID, kind: "subagent" }, USER_MESSAGE],
    ["damaged"],
  ];
  for (const [index, records] of lines.entries()) {
    home.session(records);
    assert.equal(home.resume().ok, false, String(index));
  }
  for (const id of ["latest", "1", "../../x", "--yolo", ""]) {
    assert.equal(home.resume(id).ok, false);
  }
  for (const slug of ["../..", "..", "a/b"]) {
    home.write("projects.json", JSON.stringify({ projects: { "/work/api": slug } }));
    assert.equal(home.resume().ok, false);
  }
});

// Settings.

const PLAN = planOf(["/opt/my tools/mesh"]);
const install = (json: JsonObject, plan: SetupPlan) =>
  server.install(hooks.install(json, plan), plan);
const remove = (json: JsonObject, plan: SetupPlan) => server.remove(hooks.remove(json, plan), plan);
const editOf = (path: string, plan: SetupPlan) => edits(path, plan)[0] ?? assert.fail();
const USER_CONFIG = {
  general: { vimMode: true },
  hooks: {
    AfterAgent: [{ hooks: [{ type: "command", command: "say done" }] }],
    BeforeTool: [{ matcher: "write_.*", hooks: [{ type: "command", command: "audit" }] }],
  },
  mcpServers: { other: { command: "other" } },
} satisfies JsonObject;

Deno.test("setup adds our hooks and tools to Gemini CLI's settings once, and keeps those of others", () => {
  const installed = install(USER_CONFIG, PLAN);
  assert.equal(JSON.stringify(install(installed, PLAN)), JSON.stringify(installed));
  const { hooks: written, mcpServers } = JSON.parse(JSON.stringify(installed));
  assert.deepEqual(mcpServers, {
    other: { command: "other" },
    mesh: { command: "/opt/my tools/mesh", args: ["mcp"], trust: true },
  });
  assert.equal(written.AfterAgent[0].hooks[0].command, "say done");
  assert.deepEqual(written.BeforeAgent[0].hooks[0], {
    type: "command",
    name: "mesh-BeforeAgent",
    command: "MESH_AGENT_PID=$PPID '/opt/my tools/mesh' hook gemini BeforeAgent",
    timeout: 5000,
  });
  const moved = install(installed, planOf(["/usr/bin/mesh"]));
  assert(!JSON.stringify(moved).includes("/opt/my tools"));
  assert.equal(
    JSON.stringify(remove(moved, planOf(["/usr/bin/mesh"]))),
    JSON.stringify(USER_CONFIG),
  );
});

Deno.test("another program's server with our name stays in Gemini CLI's settings", () => {
  const before = { mcpServers: { mesh: { command: "mesh-of-others", args: ["serve"] } } };
  assert.throws(() => install(before, PLAN), Unchangeable);
  assert.equal(remove(before, PLAN), before);
});

Deno.test("uninstalling restores Gemini CLI's settings byte for byte", () => {
  const layouts = [
    `${JSON.stringify(USER_CONFIG, null, 2)}\n`,
    JSON.stringify(USER_CONFIG, null, "\t"),
    JSON.stringify(USER_CONFIG),
    '{ "hooks": { "AfterAgent": [] },\n  "mcpServers":{} }\n',
    "{}",
  ];
  for (const layout of layouts) {
    using home = new Home();
    const path = home.write("settings.json", layout);
    applyEdit(editOf(path, PLAN), { undo: false });
    assert.notEqual(Deno.readTextFileSync(path), layout);
    applyEdit(editOf(path, PLAN), { undo: true });
    assert.equal(Deno.readTextFileSync(path), layout);
  }
});

Deno.test("mesh setup --agent gemini writes one file, and restores it", async () => {
  using home = new Home();
  const output = { out: () => undefined, err: () => undefined };
  const path = join(home.config_dir, "settings.json");
  assert.equal(await runSetup(["--agent", "gemini"], home.env, output), 0);
  assert.match(Deno.readTextFileSync(path), /hook gemini SessionStart/);
  assert.equal(await runSetup(["--agent", "gemini", "--uninstall"], home.env, output), 0);
  assert.throws(() => Deno.statSync(path), Deno.errors.NotFound);
});
