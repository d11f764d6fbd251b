/** Real agents that read an urgent message between two tool calls: once, and with proof. */

import assert from "node:assert/strict";
import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import type { ModelServer } from "../../../../tools/selftest/model/scripted_model.ts";
import { withAgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareCopilot, prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import { codexCli, copilotCli, geminiCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

type Call = Lab["mesh"]["call"];

const TEXT = "Stop, the port is taken";
const PROMPT = "Look around";
/** The model calls a tool three times, and then ends its turn. */
function looksAround(tool: string): readonly ScriptedReply[] {
  const look = { tool, args: {} };
  return [{ match: new RegExp(PROMPT), steps: [look, look, look, { say: "Looked around" }] }];
}

interface Scene {
  readonly call: Call;
  readonly peer_id: string;
  readonly model: ModelServer;
  readonly prompt: () => Promise<void>;
}

/** Sends an urgent message while the agent is at work; it is read within that turn. */
async function readsWithinTurn({ call, peer_id, model, prompt }: Scene) {
  const isIn = async (turn_state: string) => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.some((peer) => peer.peer_id === peer_id && peer.turn_state === turn_state);
  };
  const held = model.hold();
  await prompt();
  await until("the turn", () => isIn("working"));
  const body = { from_peer: "script", to_peer: peer_id, text: TEXT, urgent: true };
  const { delivery_id: id } = await call(notifyPeer, { body: { ...body, bypass_circle: true } });
  await until("its wait for a tool call", async () => {
    return (await call(getMessage, { params: { id } })).reason !== null;
  });
  held.release();
  await until("the end of the turn", () => isIn("idle"));
  const { stages } = await call(getTrace, { params: { trace_id: id } });
  const tried = stages.filter(({ stage }) => ["attempting", "sent", "seen"].includes(stage));
  assert.deepEqual(tried.map(({ stage, detail }) => `${stage} ${detail ?? ""}`.trim()), [
    ...["attempting hook", "sent", "seen"],
  ]);
  const turn = model.transcripts().filter((transcript) => transcript.includes(PROMPT));
  assert.deepEqual(turn.map((transcript) => transcript.includes(TEXT)), [false, true, true, true]);
  assert.equal(model.occurrences(TEXT), 1, "it came once");
}

withLab(import.meta.url, "Claude Code reads an urgent message between two tool calls", async () => {
  const rules = looksAround("list_peers");
  await using lab = new Lab({ rules, bare: true, permissions: ["mcp__mesh"] });
  await lab.mesh.setUp();
  await lab.mesh.up();
  const claude = await lab.claude("api", { without_tmux_env: true });
  Deno.removeSync(claude.session?.messagingSocketPath ?? "");
  const { call } = lab.mesh;
  const peer_id = await until("the peer", async () => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.find(({ status }) => status === "online")?.peer_id;
  });
  await readsWithinTurn({
    call,
    peer_id,
    model: lab.model,
    prompt: () => claude.sendPrompt(PROMPT),
  });
});

inLongForm(withLab)(
  import.meta.url,
  "Codex reads an urgent message between two tool calls",
  async () => {
    await using lab = await new CodexLab(looksAround("list_peers"), ["api"]).open();
    const codex = await lab.startCodex("api");
    await readsWithinTurn({
      call: lab.call,
      peer_id: (await lab.peer("api-codex"))?.peer_id ?? "",
      model: lab.model,
      prompt: () => codex.sendPrompt(PROMPT),
    });
  },
  codexCli,
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "Gemini CLI reads an urgent message between two tool calls",
  {
    agent: geminiCli,
    prepare: (lab, bin) => prepareGemini(lab, bin, looksAround("list_peers")),
  },
  async (fixture) => {
    const { peer_id } = await fixture.start();
    const { model } = fixture.agentUnderTest;
    await readsWithinTurn({
      call: fixture.call,
      peer_id,
      model,
      prompt: () => fixture.sendPrompt(PROMPT),
    });
  },
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "Copilot CLI reads an urgent message between two tool calls",
  {
    agent: copilotCli,
    prepare: (lab, bin) => prepareCopilot(lab, bin, looksAround("list_peers")),
  },
  async (fixture) => {
    const { peer_id } = await fixture.start();
    const { model } = fixture.agentUnderTest;
    await readsWithinTurn({
      call: fixture.call,
      peer_id,
      model,
      prompt: () => fixture.sendPrompt(PROMPT),
    });
  },
);
