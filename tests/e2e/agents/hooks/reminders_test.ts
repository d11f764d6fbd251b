/** Real agents that end their turn without an answer: a hook reminds them, and they answer. */

import assert from "node:assert/strict";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import { codexCli, copilotCli, geminiCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, withLab } from "../../../support/e2e/lab.ts";
import { withAgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareCopilot, prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { until } from "../../../support/waiting.ts";

/**
 * The model forgets the ask, and answers with this tool when the hook reminds it. It tries twice,
 * because the tools of mesh start beside the session, and may be late for the first call.
 */
function forgets(tool: string): readonly ScriptedReply[] {
  const answer = { tool, args: { correlation_id: "$1", message: "Port 8080" } };
  return [
    {
      match: /- (ask-[0-9a-f]{12}) from @cli: the tool ack/,
      steps: [answer, answer, { say: "Answered" }],
    },
    { match: /<peer-message type="ask"/, steps: [{ say: "I will look into it" }] },
  ];
}

type Call = Lab["mesh"]["call"];

/** Asks a peer, and checks the ask's end: it was seen, its recipient reminded, and it answered. */
async function isRemindedAndAnswers(call: Call, to_peer: string): Promise<void> {
  const body = { from_peer: "cli", to_peer, text: "Which port?", bypass_circle: true };
  const id = (await call(openAsk, { body })).correlation_id ?? "";
  const { reply } = await until("the answer", async () => {
    const ask = await call(getAsk, { params: { id } });
    return ask.state === "closed" && ask;
  });
  assert.equal(reply, "Port 8080");
  const { stages } = await call(getTrace, { params: { trace_id: id } });
  const end = ["seen", "reminded", "acked"];
  const found = stages.map(({ stage }) => stage).filter((stage) => end.includes(stage));
  assert.deepEqual(found, end);
}

withLab(import.meta.url, "Claude Code is reminded of an ask, and answers", async () => {
  await using lab = new Lab({ rules: forgets("ack"), bare: true, permissions: ["mcp__mesh"] });
  await lab.mesh.setUp();
  await lab.mesh.up();
  await lab.claude("api");
  const { call } = lab.mesh;
  const peer_id = await until("the peer", async () => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.find(({ status }) => status === "online")?.peer_id;
  });
  await isRemindedAndAnswers(call, peer_id);
});

inLongForm(withLab)(
  import.meta.url,
  "Codex is reminded of an ask, and answers",
  async () => {
    await using lab = await new CodexLab(forgets("ack"), ["api"]).open();
    await lab.startCodex("api");
    await isRemindedAndAnswers(lab.call, "api-codex");
  },
  codexCli,
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "Gemini CLI is reminded of an ask, and answers",
  {
    agent: geminiCli,
    prepare: (lab, bin) => prepareGemini(lab, bin, forgets("mcp_mesh_ack")),
  },
  async (fixture) => isRemindedAndAnswers(fixture.call, (await fixture.start()).peer_id),
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "Copilot CLI is reminded of an ask, and answers",
  {
    agent: copilotCli,
    prepare: (lab, bin) => prepareCopilot(lab, bin, forgets("ack")),
  },
  async (fixture) => isRemindedAndAnswers(fixture.call, (await fixture.start()).peer_id),
);
