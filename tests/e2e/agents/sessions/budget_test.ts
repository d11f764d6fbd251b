/** A budget over two real agents: a Gemini CLI uses it, and a Claude Code is refused. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { AgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { binOf, geminiCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

async function test(): Promise<void> {
  const bin = binOf(geminiCli);
  await using fixture = new AgentFixture((lab) => prepareGemini(lab, bin));
  const { lab } = fixture;
  const config = { daemon: { port: 0, circle_boundary: "machine" } };
  lab.write("home/.claude/settings.json", { permissions: { allow: ["mcp__mesh"] } });
  await lab.mesh.setUp({ agent: "claude-code", config });
  await fixture.up(config);
  const { peer_id, name } = await fixture.start();
  const body = {
    from_peer: "cli",
    to_peer: peer_id,
    text: "Which port?",
    reply_delivery: "pull" as const,
    budget: "1-turns,1M-tokens",
  };
  const id = (await fixture.call(openAsk, { body })).correlation_id ?? "";
  assert.equal((await fixture.answer(id)).reply, "Port 8080");
  const budget = await until("the turn and its tokens in the budget", async () => {
    const { budgets } = await fixture.call(listBudgets, { query: { message: id } });
    return budgets.find(({ used }) => used.turns === 1 && used.tokens > 0);
  });
  assert.equal(budget.state, "spent");
  assert.deepEqual(budget.by.map((use) => use.name), [name]);
  const claude = await lab.claude("api");
  await until("Claude Code among the peers", async () => {
    const { peers } = await fixture.call(listPeers, { query: {} });
    return peers.some(({ backend, status }) => backend === "claude-code" && status === "online");
  });
  await claude.sendPrompt(
    `Go on @@TOOL ask {"peer":"${name}","message":"And now?","reply_to":"${id}"}`,
  );
  const refused = await until(
    "the refusal at Claude Code's model",
    () => lab.model.transcripts().find((raw) => raw.includes("budget_spent")),
  );
  assert.match(refused, /1 turn of 1 turn/);
}

inLongForm(withLab)(
  import.meta.url,
  "a real agent uses a budget, and another one is refused by it [4.budget.spent]",
  test,
  geminiCli,
);
