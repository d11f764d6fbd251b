/** Real Copilot CLI in a private tmux: asked in every state, answering by its tool, resumed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { answerAsk } from "protocol/asks/questions.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { closePeer, getPeer } from "protocol/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";
import {
  COPILOT_MODEL,
  COPILOT_TOUCH_RULE,
  isCopilotAtDialog,
} from "../../../daemon/features/agents/copilot/fixture.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { copilotCli } from "../../support/e2e/installed_agents.ts";
import type { Lab } from "../../support/e2e/lab.ts";
import {
  type AgentFixture,
  type AgentUnderTest,
  withAgentFixture,
} from "../../support/e2e/agent_harness.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { mustEndThere, waitForQuestion } from "../../support/e2e/question_ends.ts";
import { until } from "../../support/waiting.ts";
import { inLongForm } from "../../support/e2e/lab.ts";
import { type Copilot, prepareCopilot } from "../../support/e2e/agent_setups.ts";

const RULES = [ANSWERS, COPILOT_TOUCH_RULE];

/** A subagent's first prompt follows the text that describes it. */
const DELEGATED: ScriptedReply = {
  match: /Delegate it/,
  steps: [
    {
      tool: "task",
      args: {
        agent_type: "general-purpose",
        description: "Looks",
        prompt: "Look inside",
        name: "inner",
        mode: "sync",
      },
    },
    { say: "The subagent said: ${result}" },
  ],
};

const prepare = (lab: Lab, bin: string): Copilot => prepareCopilot(lab, bin, [...RULES, DELEGATED]);

/** A command of Copilot's own, after which further text may follow. */
async function command(fixture: AgentFixture, name: string): Promise<void> {
  await fixture.sendPrompt(name, () => fixture.screen.includes(`❯ ${name}`));
}

const BUILT = { agent: copilotCli, prepare };
const GATED = { human: { name: "sam" }, approvals: { gated_tools: ["bash"] } };

withAgentFixture(
  import.meta.url,
  "Copilot CLI registers as it starts, is asked while idle and busy, and leaves",
  BUILT,
  async (fixture) => {
    const { model } = fixture.agentUnderTest;
    const peer = await fixture.start();
    assert.deepEqual([peer.transport, peer.path, peer.turn_state], ["pane", fixture.path, "idle"]);
    assert.equal(model.turns.length, 0, "it has had no turn yet");
    const first = await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
    assert.deepEqual([first.reply, first.responder], ["Port 8080", peer.name]);
    for (const stage of ["attempting", "sent", "seen"]) assert(first.stages.includes(stage), stage);
    await until("its model", async () => (await fixture.peer())?.model === COPILOT_MODEL);
    await fixture.waitForTurn("idle");
    // The composer shows the end of one, and a marker in place of the other.
    for (const text of ["word ".repeat(1_200), "line\n".repeat(40)]) {
      const long = await fixture.answer(await fixture.ask(peer.peer_id, text));
      assert.deepEqual([long.reply, long.stages.includes("seen")], ["Port 8080", true]);
    }
    await fixture.waitForTurn("idle");
    await fixture.sendPrompt("Delegate it");
    await until("the subagent's prompt", () => model.promptOccurrences("Look inside") > 0);
    await until("the end", () => fixture.screen.includes("The subagent said"));
    await fixture.waitForTurn("idle");
    const known = await fixture.peer();
    assert.deepEqual([known?.peer_id, known?.mesh_session_id], [
      peer.peer_id,
      peer.mesh_session_id,
    ]);
    const { children } = await fixture.call(getPeer, { params: { id: peer.peer_id }, query: {} });
    assert.deepEqual(children.map(({ name, status }) => [name, status]), [
      [`${peer.name}.general-purpose-1`, "offline"],
    ]);
    const modelHold = model.hold();
    await fixture.sendPrompt("Think long");
    await fixture.waitForTurn("working");
    const id = await fixture.ask(peer.peer_id, "Which host?");
    await until("it to be typed", async () => (await fixture.stages(id)).includes("sent"));
    modelHold.release();
    assert.equal((await fixture.answer(id)).reply, "Port 8080");
    // The peer may still be idle from the turn before. A command typed during a turn is not run.
    await until("the last turn", () => /Which host[^]*● Answered/.test(fixture.screen));
    await fixture.waitForTurn("idle");
    await command(fixture, "/exit");
    const gone = await until("it to be offline", () => fixture.peer({ status: "offline" }));
    assert.equal(gone.peer_id, peer.peer_id);
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "a draft, a dialog and a menu of Copilot CLI are left alone",
  BUILT,
  async (fixture) => {
    const peer = await fixture.start();
    await fixture.draft("half a thought");
    const first = await fixture.ask(peer.peer_id, "Which port?");
    await fixture.waitsFor(first, "draft_present");
    assert(fixture.holds("half a thought"));
    await fixture.press("C-u", () => !fixture.holds("half a thought"));
    assert.equal((await fixture.answer(first)).reply, "Port 8080");
    await fixture.waitForTurn("idle");
    const file = join(fixture.path, "made.txt");
    const isOpen = () => isCopilotAtDialog(fixture.screen);
    for (const last of [false, true]) {
      await fixture.sendPrompt(`Touch ${file} now`);
      await until("the dialog", isOpen);
      await fixture.waitForTurn("awaiting_input");
      if (last) break;
      await fixture.press("Escape", () => !isOpen()); // No hook reports this.
      await fixture.waitForTurn("idle");
    }
    const second = await fixture.ask(peer.peer_id, "Which host?");
    await fixture.waitsFor(second, "dialog_open");
    assert(isOpen());
    assert.equal(readTextOrNothing(file), undefined);
    await fixture.press("Escape", () => !isOpen());
    assert.equal((await fixture.answer(second)).reply, "Port 8080");
    assert.equal(readTextOrNothing(file), undefined);
    await fixture.waitForTurn("idle");
    await fixture.press("Tab", () => fixture.screen.includes("[Sessions]"));
    const third = await fixture.ask(peer.peer_id, "Which path?");
    await fixture.waitsFor(third, "dialog_open");
    await fixture.press("BTab", () => fixture.isEmpty);
    assert.equal((await fixture.answer(third)).reply, "Port 8080");
  },
);

/** A daemon that may start Copilot CLI itself. */
function spawnSettings(lab: Lab, { bin, env }: AgentUnderTest) {
  return { spawn: { commands: { copilot: [bin] }, allowed_paths: [lab.dir], env } };
}

inLongForm(withAgentFixture)(
  import.meta.url,
  "Copilot CLI is spawned with a message, restarted with its session, and retired",
  { ...BUILT, config: spawnSettings },
  async (fixture) => {
    const { model } = fixture.agentUnderTest;
    const spawned = await fixture.call(spawnPeer, {
      query: { tmux_socket: fixture.lab.tmux_socket },
      body: { path: fixture.path, backend: "copilot", name: "api", message: "Remember Lindau" },
    });
    await until("its message", () => model.promptOccurrences("Remember Lindau") === 1);
    const before = await fixture.attach(spawned.pane_id ?? "");
    assert.equal(before.name, "api");
    await fixture.waitForTurn("idle");
    const dry = await until("records that can be resumed", async () => {
      const plan = await fixture.call(restartPeer, {
        params: { id: "api" },
        body: { dry_run: true },
      });
      return plan.outcome === "would_restart" && plan;
    });
    assert.deepEqual(dry.would_run?.slice(0, 2), ["copilot", "--resume"]);
    const body = { message: "Remember Bregenz" };
    const done = await fixture.call(restartPeer, { params: { id: "api" }, body });
    assert.equal(done.outcome, "restarted", JSON.stringify(done));
    assert(!isAlive(before.agent_pid ?? 0));
    await until("the message after it", () => model.promptOccurrences("Remember Bregenz") === 1);
    assert.equal(model.promptOccurrences("Remember Lindau"), 1, "the conversation goes on");
    const after = await fixture.call(getPeer, { params: { id: "api" }, query: {} });
    assert.deepEqual([after.peer_id, after.pane_id], [before.peer_id, before.pane_id]);
    assert.notEqual(after.agent_pid, before.agent_pid);
    // A prompt that is reported after the end would register the session again.
    await until("the end of the turn", () => !/esc interrupt/.test(fixture.screen));
    await fixture.call(closePeer, { params: { id: "api" }, query: {} });
    assert.equal(await fixture.peer({ status: "online" }), undefined);
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "a turn that is interrupted ends the question about Copilot CLI's gated tool",
  { ...BUILT, config: () => GATED },
  async (fixture) => {
    await fixture.start();
    const file = join(fixture.path, "made.txt");
    await fixture.sendPrompt(`Touch ${file} now`);
    const question = await waitForQuestion(fixture.call);
    await mustEndThere(fixture.call, question, "denied_there", async () => {
      await until("the end of the turn", () => {
        fixture.type("Escape", "Escape");
        return fixture.screen.includes("Operation cancelled by user");
      });
    });
    assert.equal(readTextOrNothing(file), undefined);
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "a permission whose Copilot CLI is killed is over",
  { ...BUILT, config: () => GATED },
  async (fixture) => {
    const { agent_pid } = await fixture.start();
    const file = join(fixture.path, "made.txt");
    await fixture.sendPrompt(`Touch ${file} now`);
    const question = await waitForQuestion(fixture.call);
    assert(agent_pid);
    const kill = () => Deno.kill(agent_pid, "SIGKILL");
    await mustEndThere(fixture.call, question, "ended_there", kill);
    assert.equal(readTextOrNothing(file), undefined);
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "a question without an answer in time is denied to Copilot CLI",
  { ...BUILT, config: () => ({ ...GATED, approvals: { ...GATED.approvals, timeout_seconds: 3 } }) },
  async (fixture) => {
    await fixture.start();
    const file = join(fixture.path, "made.txt");
    await fixture.sendPrompt(`Touch ${file} now`);
    const { correlation_id } = await waitForQuestion(fixture.call);
    const ask = await until("the end of the question", async () => {
      const ask = await fixture.call(getAsk, { params: { id: correlation_id ?? "" } });
      return ask.state === "closed" && ask;
    });
    assert.equal(ask.outcome, "denied");
    await fixture.waitForTurn("idle");
    assert.equal(readTextOrNothing(file), undefined);
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "the human is asked about Copilot CLI's gated tools, and its /clear starts another session",
  { ...BUILT, config: () => GATED },
  async (fixture) => {
    const peer = await fixture.start();
    const file = join(fixture.path, "made.txt");
    for (const [option_id, made] of [["deny", undefined], ["allow", ""]] as const) {
      await fixture.sendPrompt(`Touch ${file} now`);
      const { correlation_id } = await waitForQuestion(fixture.call);
      await fixture.call(answerAsk, {
        body: { correlation_id: correlation_id ?? "", option_id },
      });
      await fixture.waitForTurn("idle");
      assert.equal(readTextOrNothing(file), made);
    }
    await command(fixture, "/clear");
    await until("a fresh session", () => fixture.screen.includes("Started a fresh session"));
    const cleared = await until("it to be known", async () => {
      const now = await fixture.peer({ status: "online" });
      return now?.mesh_session_id !== peer.mesh_session_id && now;
    });
    assert.equal(cleared.peer_id, peer.peer_id);
    assert.equal(
      (await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"))).reply,
      "Port 8080",
    );
  },
);
