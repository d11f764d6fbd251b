/** Real Gemini CLI in a window of a real kitty: it registers by its hooks, and answers. */

import assert from "node:assert/strict";
import { type AgentFixture, withAgentFixture } from "../../support/e2e/agent_harness.ts";
import { prepareGemini } from "../../support/e2e/agent_setups.ts";
import { geminiCli } from "../../support/e2e/installed_agents.ts";
import { Kitty, kittyMissing } from "../../support/host/private_kitty.ts";
import { print, until } from "../../support/waiting.ts";

/** The variables by which a program knows its window. */
const OF_KITTY = ["TERM", "KITTY_WINDOW_ID", "KITTY_LISTEN_ON"];

async function startIn(kitty: Kitty, fixture: AgentFixture): Promise<string> {
  const kept = OF_KITTY.map((name) => `${name}="$${name}"`).join(" ");
  const named = Object.entries(fixture.env).map((pair) => pair.join("="));
  const start = `exec env -i ${kept} "$@"`;
  const command = ["sh", "-c", start, "sh", ...named, ...fixture.agentUnderTest.command];
  return await kitty.open(command, fixture.path);
}

async function answersInKitty(fixture: AgentFixture): Promise<void> {
  await using kitty = await Kitty.start();
  const window = await startIn(kitty, fixture);
  const { composer } = fixture.agentUnderTest;
  const isEmpty = async () => {
    const found = await kitty.server.screen(window);
    if (!found.ok || !found.seen) return false;
    const { rows: lines, pane: { cursor_x, cursor_y } } = found.seen;
    return composer.composerEmpty({ above: [], lines, cursor_x, cursor_y }) === true;
  };
  await until("an empty composer", isEmpty);
  const peer = await until("the peer", () => fixture.peer({ status: "online", pane_id: window }));
  assert.deepEqual([peer.terminal, peer.tmux_socket], ["kitty", kitty.address]);

  const { reply, stages } = await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
  assert.equal(reply, "Port 8080");
  for (const stage of ["attempting", "sent", "seen"]) assert.ok(stages.includes(stage), stage);

  const file = `${fixture.path}/made.txt`;
  await until("the end of the turn", isEmpty);
  await kitty.type(window, `@@TOOL run_shell_command {"command":"touch ${file}"}`);
  await until("the prompt", async () => (await kitty.screen(window)).includes("@@TOOL"));
  await kitty.type(window, "\r");
  const dialog = "Allow execution of";
  await until("the dialog", async () => (await kitty.screen(window)).includes(dialog));
  const second = await fixture.ask(peer.peer_id, "Which user?");
  await fixture.waitsFor(second, "dialog_open");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  await kitty.close(window);
  await until("its end", () => fixture.peer({ status: "offline" }));
  assert.ok((await fixture.stages(second)).includes("queued"));
}

withAgentFixture(
  import.meta.url,
  "Gemini CLI in kitty is asked and answers; a dialog is left alone",
  { agent: geminiCli, prepare: prepareGemini },
  async (fixture) => {
    const missing = kittyMissing();
    if (missing === undefined) await answersInKitty(fixture);
    else print(`skipped: Gemini CLI in kitty (${missing})`);
  },
);
