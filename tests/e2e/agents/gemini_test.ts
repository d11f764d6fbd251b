/** Real Gemini CLI in a private tmux: it registers, is asked, answers, and is taken up again. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { resumeOf } from "../../../daemon/features/agents/gemini/sessions.ts";
import { geminiCli } from "../../support/e2e/installed_agents.ts";
import { type Office, withOffice } from "../../support/e2e/agent_harness.ts";
import { until } from "../../support/e2e/waiting.ts";
import { hireGemini } from "../../support/e2e/agent_setups.ts";

function withGemini(name: string, test: (office: Office) => Promise<void>): void {
  withOffice(import.meta.url, name, { agent: geminiCli, hire: hireGemini }, test);
}

withGemini("an idle Gemini CLI is asked in its pane, and answers by its tool", async (office) => {
  const peer = await office.start();
  assert.equal(peer.transport, "pane");
  const id = await office.ask(peer.peer_id, "Which port?");
  const { reply, responder, stages } = await office.answer(id);
  assert.deepEqual([reply, responder], ["Port 8080", peer.name]);
  for (const stage of ["attempting", "sent", "seen"] as const) {
    assert(stages.includes(stage), stage);
  }
  assert.equal((await office.peer())?.model, "gemini-2.5-flash");
});

withGemini("a draft and a dialog of Gemini CLI are left alone", async (office) => {
  const peer = await office.start();
  await office.draft("half a thought");
  const first = await office.ask(peer.peer_id, "Which port?");
  await office.waits(first, "draft_present");
  assert(office.holds("half a thought"));
  office.type("C-u");
  assert.equal((await office.answer(first)).reply, "Port 8080");
  await until("the end of the turn", () => office.screen.includes("DONE 1"));
  const file = `${office.path}/made.txt`;
  for (const mark of ["one", "two"]) {
    await office.say(`${mark} @@TOOL run_shell_command {"command":"touch ${file}"}`);
    await until("the dialog", () => office.screen.includes("Allow execution of"));
    await office.turn("awaiting_input");
    if (mark === "two") break;
    office.type("Escape"); // No hook tells of this.
    await office.turn("idle");
  }
  const second = await office.ask(peer.peer_id, "Which host?");
  await office.waits(second, "dialog_open");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  office.type("Escape");
  assert.equal((await office.answer(second)).reply, "Port 8080");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
});

withGemini("a session of Gemini CLI is taken up again under its id", async (office) => {
  const peer = await office.start();
  await office.answer(await office.ask(peer.peer_id, "Which port?"));
  await until("the end of the turn", () => office.screen.includes("DONE 1"));
  const chats = `${office.lab.dir}/home/.gemini/tmp/api/chats`;
  const [file] = Array.from(Deno.readDirSync(chats), ({ name }) => name);
  const [head = "{}"] = Deno.readTextFileSync(join(chats, file ?? "")).split("\n");
  const session = { runtime_session_id: JSON.parse(head).sessionId, path: office.path };
  office.lab.cli("kill-pane", "-t", peer.pane_id ?? "");
  const resumed = resumeOf(`${office.lab.dir}/home/.gemini`, session);
  assert(resumed.ok);
  const again = await office.start(...resumed.args);
  assert.equal(again.peer_id, peer.peer_id);
});
