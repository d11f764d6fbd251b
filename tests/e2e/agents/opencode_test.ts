/** Real opencode and a daemon: asked in every state, answering by its tool, resumed. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { getAsk } from "protocol/asks/contract.ts";
import { dataDir } from "../../../daemon/features/agents/opencode/agent.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { resume } from "../../../daemon/features/agents/opencode/session_files.ts";
import { inLongForm, withLab } from "../../support/e2e/lab.ts";
import { opencodeCli } from "../../support/e2e/installed_agents.ts";
import { OpencodeLab } from "../../support/e2e/opencode_lab.ts";
import { ANSWERS, ANSWERS_LATER, TOUCHES } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/waiting.ts";

const DELEGATED: ScriptedReply = {
  match: /^"?Delegate it/,
  steps: [
    {
      tool: "task",
      args: { description: "Looks", prompt: "Look inside", subagent_type: "general" },
    },
    { say: "Delegated" },
  ],
};
const RULES = [ANSWERS, ANSWERS_LATER, TOUCHES, DELEGATED];

/** The first turn waits for the MCP servers, which start slowly on a busy machine. */
const ANSWER_MS = 60_000;

/** The agent answers the ask by its own call of the tool, as its own peer. */
async function waitForAnswer(lab: OpencodeLab, id: string): Promise<void> {
  const ask = await until(`an answer to ${id}`, async () => {
    const found = await lab.call(getAsk, { params: { id } });
    return found.state === "closed" ? found : undefined;
  }, ANSWER_MS);
  assert.equal(ask.reply, "Port 8080");
  assert.equal(ask.responder, "api-opencode");
}

inLongForm(withLab)(import.meta.url, "opencode: asked idle, with a draft, and busy", async () => {
  await using lab = new OpencodeLab(RULES);
  await lab.mesh.setUp({ agent: "opencode" });
  await lab.mesh.up();
  await lab.start();
  const peer = await lab.waitForPeer("pending_first_turn");
  assert.equal(peer.name, "api-opencode");
  assert.equal(peer.circle, "office");
  assert.equal(peer.path, lab.folder);
  assert.match(peer.pane_id ?? "", /^%\d+$/);
  await lab.enterWeb();

  lab.type("a half-typed thought");
  await until("the draft", () => lab.screen.includes("a half-typed thought"));
  const first = await lab.ask("Which port?");
  const stages = await lab.waitForStage(first, "seen");
  assert(stages.includes("accepted"), stages.join());
  await waitForAnswer(lab, first);
  await lab.waitForPeer("idle");
  assert.equal((await lab.peer())?.model, "scripted/one");
  const second = await lab.ask("And now, in a session that is open?");
  await waitForAnswer(lab, second);
  await until("the draft in its box", () => lab.screen.includes("┃  a half-typed thought"));
  assert.equal(
    lab.model.turns.flatMap(({ prompts }) => prompts).join().includes("half-typed"),
    false,
  );

  await lab.waitForPeer("idle");
  lab.press("C-u");
  const { release } = lab.model.hold();
  await lab.sendPrompt("Take your time");
  await lab.waitForPeer("working");
  const third = await lab.ask("Are you busy?");
  await lab.waitForStage(third, "seen");
  release();
  await waitForAnswer(lab, third);
  for (const id of [first, second, third]) {
    assert.equal(lab.model.promptOccurrences(`id="${id}"`), 1);
  }

  await lab.waitForPeer("idle");
  await lab.sendPrompt("Delegate it");
  const child = await until("the end of a subagent", async () => {
    const { children } = await lab.call(getPeer, { params: { id: peer.peer_id }, query: {} });
    return children[0]?.status === "offline" && children[0];
  });
  assert.equal(child.name, "api-opencode.general-1");
}, opencodeCli);

inLongForm(withLab)(
  import.meta.url,
  "opencode: asked in a turn that its user interrupts",
  async () => {
    await using lab = new OpencodeLab(RULES);
    await lab.mesh.setUp({ agent: "opencode" });
    await lab.mesh.up();
    await lab.start();
    await lab.waitForPeer("pending_first_turn");
    await lab.enterWeb();
    const { release } = lab.model.hold();
    await lab.sendPrompt("Take your time");
    await lab.waitForPeer("working");
    await until("the model's turn", () => lab.model.turns.length > 0);
    const id = await lab.ask("Which port?");
    await lab.waitForStage(id, "seen");
    lab.press("Escape");
    await until("the warning", () => lab.screen.includes("again to interrupt"));
    lab.press("Escape");
    await until("its end", () => !lab.screen.includes("again to interrupt"));
    release();
    await waitForAnswer(lab, id);
    assert.equal(lab.model.promptOccurrences(`id="${id}"`), 1, "not repeated");
    assert.equal(lab.model.promptOccurrences("Not read yet"), 1, "but named");
  },
  opencodeCli,
);

inLongForm(withLab)(
  import.meta.url,
  "opencode: at a dialog, over a kill -9, and resumed",
  async () => {
    await using lab = new OpencodeLab(RULES);
    await lab.mesh.setUp({ agent: "opencode" });
    await lab.mesh.up();
    await lab.start();
    const { peer_id } = await lab.waitForPeer("pending_first_turn");
    await lab.enterWeb();
    await lab.sendPrompt("Touch it, please");
    await lab.waitForPeer("awaiting_input");
    await until("the dialog", () => lab.screen.includes("Allow once"));
    const waiting = await lab.ask("Which port?");
    await lab.waitForStage(waiting, "sent");
    await lab.mesh.crash();
    await lab.mesh.up();
    await lab.waitForPeer("awaiting_input");
    assert(!(await lab.stages(waiting)).includes("accepted"), "It waits for the dialog");
    assert(lab.screen.includes("Allow once"), "the dialog is still open");
    lab.press("Right");
    lab.press("Right");
    await until("the choice", () => lab.screen.includes("Reject"));
    lab.press("Enter");
    await waitForAnswer(lab, waiting);
    assert.equal(lab.model.promptOccurrences(`id="${waiting}"`), 1);
    assert.throws(() => Deno.statSync(`${lab.folder}/touched`), Deno.errors.NotFound);

    await lab.waitForPeer("idle");
    await lab.endAgents();
    await until("its end", async () => (await lab.peer())?.status === "offline");
    const late = await lab.ask("Are you there?");
    const again = resume(dataDir(lab.env), {
      runtime_session_id: sessionIn(lab),
      path: lab.folder,
    });
    assert(again.ok);
    await lab.start(...again.args);
    assert.equal((await lab.waitForPeer()).peer_id, peer_id);
    await waitForAnswer(lab, late);
    assert.equal(lab.model.promptOccurrences(`id="${waiting}"`), 1, "the same session, told once");
    assert.equal(lab.model.promptOccurrences(`id="${late}"`), 1);
  },
  opencodeCli,
);

/** The one session that opencode has on its disk. */
function sessionIn({ env }: OpencodeLab): string {
  using db = new DatabaseSync(`${dataDir(env)}/opencode.db`, { readOnly: true });
  return z.object({ id: z.string() }).parse(db.prepare("select id from session").get()).id;
}
