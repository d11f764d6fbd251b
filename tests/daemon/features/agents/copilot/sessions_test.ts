/** Copilot CLI's sessions on the disk, as far as the adapter reads them. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import type { AgentPeer } from "../../../../../daemon/features/agents/adapter.ts";
import { copilot } from "../../../../../daemon/features/agents/copilot/agent.ts";
import { copilotAdapter } from "../../../../../daemon/features/agents/copilot/copilot.ts";
import {
  processOf,
  resumeOf,
  SessionRecords,
} from "../../../../../daemon/features/agents/copilot/sessions.ts";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { outgoingNotification } from "../../../../support/agents/outgoing_message.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { silent, Terminal } from "../../../../support/host/private_tmux.ts";

const ID = "4ece34a9-9295-42f4-88e9-8117639b0c1b";
const NOON = Date.parse("2026-11-21T12:00:00Z");

/** A record: its type, its data, and the subagent it belongs to. */
type SessionRecord = string | [type: string, data: Record<string, unknown>, agentId?: string];

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

  /** A session's records, one second apart. */
  session(records: readonly SessionRecord[]): void {
    const lines = records.map((record, index) => {
      const [type, data, agentId] = typeof record === "string" ? [record, {}] : record;
      const timestamp = new Date(NOON + index * 1000).toISOString();
      return JSON.stringify({ type, data, agentId, timestamp, id: String(index), parentId: null });
    });
    this.write(`session-state/${ID}/events.jsonl`, lines.map((line) => `${line}\n`).join(""));
  }

  /** Marks a process as the one that has the session open. */
  markOpen(pid = Deno.pid): this {
    this.write(`session-state/${ID}/inuse.${pid}.lock`, String(pid));
    return this;
  }

  /** The activity that the records show to the process that has the session open. */
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
const TURN_STATES: [what: string, records: SessionRecord[], turn: string | null][] = [
  ["has just begun",          [START],                                                "idle"],
  ["was prompted",            [START, USER_MESSAGE],                                          "working"],
  ["is in a turn",            [START, USER_MESSAGE, TURN_START],                                    "working"],
  ["has ended its turn",      [START, USER_MESSAGE, TURN_START, TURN_END],                              "idle"],
  ["asks for permission",     [START, USER_MESSAGE, TURN_START, ASKED, "hook.start"],               "awaiting_input"],
  ["got permission",          [START, USER_MESSAGE, TURN_START, ASKED, SETTLED],                    "working"],
  ["was interrupted",         [START, USER_MESSAGE, TURN_START, ASKED, TURN_END, "abort", SETTLED],     "idle"],
  ["asks its user",           [START, USER_MESSAGE, TURN_START, QUESTION],                          "awaiting_input"],
  ["got its answer",          [START, USER_MESSAGE, TURN_START, QUESTION, ["tool.execution_complete", { toolCallId: "c" }]], "working"],
  ["has unknown records", [["session.whatever", {}]],                            null],
];

for (const [what, records, turn] of TURN_STATES) {
  Deno.test(`the turn state of a session of Copilot CLI that ${what} is read from its records`, () => {
    using home = new Home();
    home.markOpen().session(records);
    assert.equal(home.currentTurn()?.turn_state, turn);
  });
}

Deno.test("a subagent's turn and model do not change those of the session, but its open dialog does", () => {
  using home = new Home();
  const of = (
    type: string,
    data = {},
  ): [string, Record<string, unknown>, string] => [type, data, "a"];
  home.markOpen().session([START, USER_MESSAGE, TURN_START, of(TURN_START), of(TURN_END)]);
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

Deno.test("records are read only by the process that wrote them, from the end, and name the model", () => {
  using home = new Home();
  assert.equal(home.currentTurn(), undefined);
  const padding = Array.from({ length: 500 }, () => ["noise", { text: "x".repeat(400) }] as const);
  const noise = padding.map(([type, data]): [string, Record<string, unknown>] => [type, data]);
  home.session([START, ASKED, ...noise, USER_MESSAGE, ["assistant.message", { model: "gpt-7" }]]);
  assert.equal(home.currentTurn(), undefined, "no process has it open");
  home.markOpen(1);
  assert.equal(home.currentTurn(), undefined, "another process has it open");
  home.markOpen();
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

Deno.test("a newer hook overrules older records; an open dialog in the records blocks the pane", async () => {
  using home = new Home();
  await using terminal = new Terminal();
  const { tmuxServers: terminalServers } = terminal;
  const { config_dir } = home;
  const adapter = copilotAdapter({
    terminalServers,
    clock: new FakeClock(),
    log: silent,
    config_dir,
  });
  home.markOpen().session([START, USER_MESSAGE, TURN_START, TURN_END]);
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

Deno.test("a session of Copilot CLI is resumed if its records exist", () => {
  using home = new Home();
  const refused = (...of: Parameters<Home["resume"]>) => {
    const resumed = home.resume(...of);
    return resumed.ok ? "resumed" : resumed.reason;
  };
  assert.match(refused(), /^No session 4ece34a9/);
  home.session([START, "session.model_change"]);
  assert.match(refused(), /^Session .* has no conversation yet$/);
  home.session([START, USER_MESSAGE]);
  assert.deepEqual(home.resume(), { ok: true, args: ["--resume", ID] });
  assert.match(refused(ID, "/work/web"), /belongs to the folder \/work\/api$/);
  home.session([START, USER_MESSAGE, ["session.resume", { context: { cwd: "/work/web" } }]]);
  assert.equal(refused(ID, "/work/web"), "resumed");
  home.session([["session.start", { sessionId: "another" }], USER_MESSAGE]);
  assert.match(refused(), /^No session/);
  for (const id of ["latest", "../../x", "--yolo", ""]) {
    assert.match(refused(id), /not a session id/);
  }
});

Deno.test("Copilot CLI's folder is set by its variable, else in the home", () => {
  assert.equal(copilot.setup?.home({ HOME: "/home/ada" }), "/home/ada/.copilot");
  assert.equal(copilot.setup?.home({ HOME: "/home/ada", COPILOT_HOME: "/srv/cop" }), "/srv/cop");
});

Deno.test("a session's records are read again only after a change", () => {
  const config_dir = Deno.makeTempDirSync({ prefix: "mesh-copilot-" });
  try {
    const folder = join(config_dir, "session-state", ID);
    Deno.mkdirSync(folder, { recursive: true });
    Deno.writeTextFileSync(join(folder, `inuse.${Deno.pid}.lock`), "");
    const path = join(folder, "events.jsonl");
    const write = (type: string, written_at: number) => {
      const record = { type, data: {}, timestamp: "2026-11-21T12:00:00Z" };
      Deno.writeTextFileSync(path, `${JSON.stringify(record)}\n`);
      Deno.utimeSync(path, written_at, written_at);
    };
    const records = new SessionRecords(config_dir);
    const turn = () => records.activityOf(ID, Deno.pid)?.turn_state;
    write("session.resume", 1_000);
    assert.equal(turn(), "idle");
    write("assistant.said", 1_000);
    assert.equal(turn(), "idle", "neither size nor time has changed");
    Deno.utimeSync(path, 1_001, 1_001);
    assert.equal(turn(), null, "the record does not change the turn");
    write("user.message", 1_001);
    assert.equal(turn(), "working", "the size has changed");
    Deno.removeSync(path);
    assert.equal(turn(), undefined);
  } finally {
    Deno.removeSync(config_dir, { recursive: true });
  }
});

Deno.test("the process that has a session open is known by its lock, unless its pid is another program's", () => {
  using home = new Home();
  const running = new Map([[71, ["node", "/opt/copilot/index.js"]], [72, ["vim"]]]);
  const holder = () => processOf(home.config_dir, ID, (pid) => running.get(pid));
  assert.equal(holder(), undefined);
  home.write(`session-state/${ID}/inuse.70.lock`, "70");
  home.write(`session-state/${ID}/inuse.72.lock`, "72");
  assert.equal(holder(), undefined, "one was killed, and the other pid is reused");
  home.write(`session-state/${ID}/inuse.71.lock`, "71");
  assert.equal(holder(), 71);
});
