/** Real Gemini CLI in a window of a real kitty: it registers by its hooks, and answers. */

import assert from "node:assert/strict";
import type { View } from "../../../daemon/features/agents/screens.ts";
import { type AgentFixture, withAgentFixture } from "../../support/e2e/agent_harness.ts";
import { prepareGemini } from "../../support/e2e/agent_setups.ts";
import { geminiCli } from "../../support/e2e/installed_agents.ts";
import { inLongForm } from "../../support/e2e/lab.ts";
import { Kitty, kittyMissing } from "../../support/host/private_kitty.ts";
import { until } from "../../support/waiting.ts";

/** The variables by which a program knows its window. */
const OF_KITTY = ["TERM", "KITTY_WINDOW_ID", "KITTY_LISTEN_ON"];

/** Maximum time of a prompt in the composer, and time until Enter is pressed again. */
const [SUBMIT_MS, ENTER_MS] = [60_000, 2_000];

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
  const view = async (): Promise<View> => {
    const found = await kitty.server.screen(window);
    if (!found.ok || !found.seen) return { above: [], lines: [], cursor_x: 0, cursor_y: 0 };
    const { rows: lines, pane: { cursor_x, cursor_y } } = found.seen;
    return { above: [], lines, cursor_x, cursor_y };
  };
  const shows = async (text: string) => (await kitty.screen(window)).includes(text);
  const holds = async (text: string) => composer.composerHolds(await view(), text);
  await until("an empty composer", async () => composer.composerEmpty(await view()));
  const peer = await until("the peer", () => fixture.peer({ status: "online", pane_id: window }));
  assert.deepEqual([peer.terminal, peer.tmux_socket], ["kitty", kitty.address]);

  const { reply, stages } = await fixture.answer(await fixture.ask(peer.peer_id, "Which port?"));
  assert.equal(reply, "Port 8080");
  for (const stage of ["attempting", "sent", "seen"]) assert.ok(stages.includes(stage), stage);

  const file = `${fixture.path}/made.txt`;
  await until("the end of the turn", () => shows("DONE 1"));
  const prompt = `@@TOOL run_shell_command {"command":"touch ${file}"}`;
  await kitty.type(window, prompt);
  await until("the prompt", () => holds(prompt));
  // Gemini CLI takes an Enter that comes too early as a line break.
  await until(
    "the prompt to be taken",
    async () => {
      if (!await holds(prompt)) return true;
      await kitty.type(window, "\r");
    },
    SUBMIT_MS,
    ENTER_MS,
  );
  await until("the dialog", () => shows("Allow execution of"));
  const second = await fixture.ask(peer.peer_id, "Which user?");
  await fixture.waitsFor(second, "dialog_open");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  await kitty.close(window);
  await until("its end", () => fixture.peer({ status: "offline" }));
  assert.ok((await fixture.stages(second)).includes("queued"));
}

const NAME = "Gemini CLI in kitty is asked and answers; a dialog is left alone";
const missing = kittyMissing();

if (missing === undefined) {
  const options = { agent: geminiCli, prepare: prepareGemini };
  inLongForm(withAgentFixture)(import.meta.url, NAME, options, answersInKitty);
} else Deno.test(`${NAME} (skipped: ${missing})`, { ignore: true }, () => undefined);
