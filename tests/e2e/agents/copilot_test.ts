/** Real Copilot CLI in a private tmux: asked in every state, answering by its tool, resumed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { answerAsk } from "../../../daemon/features/asks/questions/contract.ts";
import { listInbox } from "../../../daemon/features/inbox/contract.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { closePeer, getPeer } from "../../../daemon/features/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { spawnPeer } from "../../../daemon/features/spawn/contract.ts";
import { restartPeer } from "../../../daemon/features/spawn/restarts/contract.ts";
import {
  COPILOT_MODEL,
  COPILOT_TOUCHES,
  isCopilotAsking,
} from "../../../daemon/features/agents/copilot/fixture.ts";
import type { Rule } from "../../../daemon/features/agents/selftest/fixture.ts";
import { copilotCli } from "../../support/e2e/installed_agents.ts";
import type { Lab } from "../../support/e2e/lab.ts";
import { type Office, withOffice, type Worker } from "../../support/e2e/agent_harness.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/e2e/waiting.ts";
import { type Copilot, hireCopilot } from "../../support/e2e/agent_setups.ts";

const RULES = [ANSWERS, COPILOT_TOUCHES];

/** A subagent's first prompt stands behind what it is told of itself. */
const DELEGATED: Rule = {
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

const hire = (lab: Lab, bin: string): Copilot => hireCopilot(lab, bin, [...RULES, DELEGATED]);

/** A command of Copilot's own, which shows what may follow it. */
async function command(office: Office, name: string): Promise<void> {
  await office.say(name, () => office.screen.includes(`❯ ${name}`));
}

const BUILT = { agent: copilotCli, hire };

withOffice(
  import.meta.url,
  "Copilot CLI is known as it starts, is asked while idle and busy, and leaves",
  BUILT,
  async (office) => {
    const { model } = office.worker;
    const peer = await office.start();
    assert.deepEqual([peer.transport, peer.path, peer.turn_state], ["pane", office.path, "idle"]);
    assert.equal(model.turns.length, 0, "nobody has spoken to it yet");
    const first = await office.answer(await office.ask(peer.peer_id, "Which port?"));
    assert.deepEqual([first.reply, first.responder], ["Port 8080", peer.name]);
    for (const stage of ["attempting", "sent", "seen"]) assert(first.stages.includes(stage), stage);
    await until("its model", async () => (await office.peer())?.model === COPILOT_MODEL);
    await office.turn("idle");
    // One that the composer shows the end of, and one in whose place it shows a marker.
    for (const text of ["word ".repeat(1_200), "line\n".repeat(40)]) {
      const long = await office.answer(await office.ask(peer.peer_id, text));
      assert.deepEqual([long.reply, long.stages.includes("seen")], ["Port 8080", true]);
    }
    await office.turn("idle");
    await office.say("Delegate it");
    await until("the subagent's prompt", () => model.timesSaid("Look inside") > 0);
    await until("the end", () => office.screen.includes("The subagent said"));
    await office.turn("idle");
    const known = await office.peer();
    assert.deepEqual([known?.peer_id, known?.mesh_session_id], [
      peer.peer_id,
      peer.mesh_session_id,
    ]);
    const held = model.hold();
    await office.say("Think long");
    await office.turn("working");
    const id = await office.ask(peer.peer_id, "Which host?");
    await until("it to be typed", async () => (await office.stages(id)).includes("sent"));
    held.release();
    assert.equal((await office.answer(id)).reply, "Port 8080");
    await office.turn("idle");
    await command(office, "/exit");
    const gone = await until("it to be offline", () => office.peer({ status: "offline" }));
    assert.equal(gone.peer_id, peer.peer_id);
  },
);

withOffice(
  import.meta.url,
  "a draft, a dialog and a menu of Copilot CLI are left alone",
  BUILT,
  async (office) => {
    const peer = await office.start();
    await office.draft("half a thought");
    const first = await office.ask(peer.peer_id, "Which port?");
    await office.waits(first, "draft_present");
    assert(office.holds("half a thought"));
    await office.press("C-u", () => !office.holds("half a thought"));
    assert.equal((await office.answer(first)).reply, "Port 8080");
    await office.turn("idle");
    const file = join(office.path, "made.txt");
    const isOpen = () => isCopilotAsking(office.screen);
    for (const last of [false, true]) {
      await office.say(`Touch ${file} now`);
      await until("the dialog", isOpen);
      await office.turn("awaiting_input");
      if (last) break;
      await office.press("Escape", () => !isOpen()); // No hook tells of this.
      await office.turn("idle");
    }
    const second = await office.ask(peer.peer_id, "Which host?");
    await office.waits(second, "dialog_open");
    assert(isOpen());
    assert.equal(readTextOrNothing(file), undefined);
    await office.press("Escape", () => !isOpen());
    assert.equal((await office.answer(second)).reply, "Port 8080");
    assert.equal(readTextOrNothing(file), undefined);
    await office.turn("idle");
    await office.press("Tab", () => office.screen.includes("[Sessions]"));
    const third = await office.ask(peer.peer_id, "Which path?");
    await office.waits(third, "dialog_open");
    await office.press("BTab", () => office.isEmpty);
    assert.equal((await office.answer(third)).reply, "Port 8080");
  },
);

/** A daemon that may start Copilot CLI by itself. */
function spawning(lab: Lab, { bin, env }: Worker) {
  return { spawn: { commands: { copilot: [bin] }, allowed_paths: [lab.dir], env } };
}

withOffice(
  import.meta.url,
  "Copilot CLI is spawned with a message, restarted with its session, and retired",
  { ...BUILT, config: spawning },
  async (office) => {
    const { model } = office.worker;
    const spawned = await office.call(spawnPeer, {
      query: { tmux_socket: office.lab.tmux_socket },
      body: { path: office.path, backend: "copilot", name: "api", message: "Remember Lindau" },
    });
    await until("its message", () => model.timesSaid("Remember Lindau") === 1);
    const before = await office.enter(spawned.pane_id ?? "");
    assert.equal(before.name, "api");
    await office.turn("idle");
    const dry = await until("records that can be resumed", async () => {
      const said = await office.call(restartPeer, {
        params: { id: "api" },
        body: { dry_run: true },
      });
      return said.outcome === "would_restart" && said;
    });
    assert.deepEqual(dry.would_run?.slice(0, 2), ["copilot", "--resume"]);
    const body = { message: "Remember Bregenz" };
    const done = await office.call(restartPeer, { params: { id: "api" }, body });
    assert.equal(done.outcome, "restarted", JSON.stringify(done));
    assert(!isAlive(before.agent_pid ?? 0));
    await until("the message after it", () => model.timesSaid("Remember Bregenz") === 1);
    assert.equal(model.timesSaid("Remember Lindau"), 1, "the conversation goes on");
    const after = await office.call(getPeer, { params: { id: "api" }, query: {} });
    assert.deepEqual([after.peer_id, after.pane_id], [before.peer_id, before.pane_id]);
    assert.notEqual(after.agent_pid, before.agent_pid);
    await office.call(closePeer, { params: { id: "api" }, query: {} });
    assert.equal(await office.peer({ status: "online" }), undefined);
  },
);

withOffice(
  import.meta.url,
  "Copilot CLI's gated tools are asked of the human, and its /clear is another session",
  { ...BUILT, config: () => ({ human: { name: "sam" }, approvals: { gated_tools: ["bash"] } }) },
  async (office) => {
    const peer = await office.start();
    const file = join(office.path, "made.txt");
    for (const [option_id, made] of [["deny", undefined], ["allow", ""]] as const) {
      await office.say(`Touch ${file} now`);
      const item = await until("the question", async () => {
        const { items } = await office.call(listInbox, { query: { unread: "1" } });
        return items.find(({ question }) => question?.scope === "tool_permission");
      });
      const correlation_id = item.correlation_id ?? "";
      await office.call(answerAsk, { body: { correlation_id, option_id } });
      await office.turn("idle");
      assert.equal(readTextOrNothing(file), made);
    }
    await command(office, "/clear");
    await until("a fresh session", () => office.screen.includes("Started a fresh session"));
    const cleared = await until("it to be known", async () => {
      const now = await office.peer({ status: "online" });
      return now?.mesh_session_id !== peer.mesh_session_id && now;
    });
    assert.equal(cleared.peer_id, peer.peer_id);
    assert.equal(
      (await office.answer(await office.ask(peer.peer_id, "Which port?"))).reply,
      "Port 8080",
    );
  },
);
