/** Copilot CLI's adapter without Copilot CLI: hooks, screens, and its sessions on the disk. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { copilotAdapter } from "../../../../../daemon/features/agents/copilot/copilot.ts";
import { copilot } from "../../../../../daemon/features/agents/copilot/agent.ts";
import { copilotScreen } from "../../../../../daemon/features/agents/copilot/screen.ts";
import {
  resumeOf,
  SessionRecords,
} from "../../../../../daemon/features/agents/copilot/sessions.ts";
import type { AgentPeer } from "../../../../../daemon/features/agents/adapter.ts";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { outgoingNotification } from "../../../../support/agents/outgoing_message.ts";
import { silent, Terminal } from "../../../../support/host/private_tmux.ts";

function golden(path: string): string {
  return Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));
}

const ID = "4ece34a9-9295-42f4-88e9-8117639b0c1b";

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
