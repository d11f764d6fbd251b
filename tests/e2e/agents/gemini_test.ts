/** Real Gemini CLI in a private tmux: it registers, is asked, answers, and is resumed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { resumeOf } from "../../../daemon/features/agents/gemini/sessions.ts";
import { geminiCli } from "../../support/e2e/installed_agents.ts";
import { type AgentFixture, withAgentFixture } from "../../support/e2e/agent_harness.ts";
import { until } from "../../support/waiting.ts";
import { inLongForm } from "../../support/e2e/lab.ts";
import { prepareGemini } from "../../support/e2e/agent_setups.ts";

function withGemini(name: string, test: (fixture: AgentFixture) => Promise<void>): void {
  withAgentFixture(import.meta.url, name, { agent: geminiCli, prepare: prepareGemini }, test);
}

withGemini("an idle Gemini CLI is asked in its pane, and answers by its tool", async (fixture) => {
  const peer = await fixture.start();
  assert.equal(peer.transport, "pane");
  const id = await fixture.ask(peer.peer_id, "Which port?");
  const { reply, responder, stages } = await fixture.answer(id);
  assert.deepEqual([reply, responder], ["Port 8080", peer.name]);
  for (const stage of ["attempting", "sent", "seen"] as const) {
    assert(stages.includes(stage), stage);
  }
  assert.equal((await fixture.peer())?.model, "gemini-2.5-flash");
});

inLongForm(withGemini)("a draft and a dialog of Gemini CLI are left alone", async (fixture) => {
  const peer = await fixture.start();
  await fixture.draft("half a thought");
  const first = await fixture.ask(peer.peer_id, "Which port?");
  await fixture.waitsFor(first, "draft_present");
  assert(fixture.holds("half a thought"));
  fixture.type("C-u");
  assert.equal((await fixture.answer(first)).reply, "Port 8080");
  await until("the end of the turn", () => fixture.screen.includes("DONE 1"));
  const file = `${fixture.path}/made.txt`;
  for (const mark of ["one", "two"]) {
    await fixture.sendPrompt(`${mark} @@TOOL run_shell_command {"command":"touch ${file}"}`);
    await until("the dialog", () => fixture.screen.includes("Allow execution of"));
    await fixture.waitForTurn("awaiting_input");
    if (mark === "two") break;
    fixture.type("Escape"); // No hook reports this.
    await fixture.waitForTurn("idle");
  }
  const second = await fixture.ask(peer.peer_id, "Which host?");
  await fixture.waitsFor(second, "dialog_open");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  fixture.type("Escape");
  assert.equal((await fixture.answer(second)).reply, "Port 8080");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
});

inLongForm(withGemini)("a session of Gemini CLI is resumed by its id", async (fixture) => {
  const peer = await fixture.start();
  await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
  await until("the end of the turn", () => fixture.screen.includes("DONE 1"));
  const chats = `${fixture.lab.dir}/home/.gemini/tmp/api/chats`;
  const [file] = Array.from(Deno.readDirSync(chats), ({ name }) => name);
  const [head = "{}"] = Deno.readTextFileSync(join(chats, file ?? "")).split("\n");
  const session = { runtime_session_id: JSON.parse(head).sessionId, path: fixture.path };
  await fixture.lab.killPane(peer.pane_id ?? "");
  const resumed = resumeOf(`${fixture.lab.dir}/home/.gemini`, session);
  assert(resumed.ok);
  const again = await fixture.start(...resumed.args);
  assert.equal(again.peer_id, peer.peer_id);
});
