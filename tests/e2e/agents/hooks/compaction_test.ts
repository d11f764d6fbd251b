/** Real agents compact their context, and answer what they owe: a hook tells them. */

import assert from "node:assert/strict";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { type AgentFixture, withAgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareCopilot, prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import {
  codexCli,
  copilotCli,
  geminiCli,
  opencodeCli,
} from "../../../support/e2e/installed_agents.ts";
import { OpencodeLab } from "../../../support/e2e/opencode_lab.ts";
import { inLongForm, Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

const ANSWER = { tool: "ack", args: { correlation_id: "$1", message: "Port 8080" } };

/**
 * The model does not answer the ask, and after the compaction knows it only from the briefing. It
 * tries twice, because the tools of mesh may be late for the first call.
 */
const RULES: readonly ScriptedReply[] = [
  {
    match: /^Do what you owe/m,
    context: /You owe an answer \(1\):\s+(ask-[0-9a-f]{12}) @cli \w+: Which port\?/,
    steps: [ANSWER, ANSWER, { say: "Answered" }],
  },
  { match: /<peer-message type="ask"/, steps: [{ say: "I will look into it" }] },
];

type Call = Lab["mesh"]["call"];

/** Asks a peer; waits until its agent has read the ask and has ended its turn. */
async function owes(call: Call, to_peer: string): Promise<string> {
  const body = { from_peer: "cli", to_peer, text: "Which port?\nSoon", bypass_circle: true };
  const id = (await call(openAsk, { body })).correlation_id ?? "";
  await until("the end of the ask's turn", async () => {
    const { stages } = await call(getTrace, { params: { trace_id: id } });
    const { peers } = await call(listPeers, { query: {} });
    const turn = peers.find(({ peer_id, name }) => to_peer === peer_id || to_peer === name);
    return stages.some(({ stage }) => stage === "seen") && turn?.turn_state === "idle";
  });
  return id;
}

/** The ask was restated, this was read, and only then the ask was answered. */
async function isAnswered(call: Call, id: string): Promise<void> {
  const { reply } = await until("the answer", async () => {
    const ask = await call(getAsk, { params: { id } });
    return ask.state === "closed" && ask;
  });
  assert.equal(reply, "Port 8080");
  const { stages } = await until("the proof that the briefing was read", async () => {
    const trace = await call(getTrace, { params: { trace_id: id } });
    return trace.stages.some(({ stage }) => stage === "restated_seen") && trace;
  });
  const restated = stages.filter(({ stage }) => stage === "restated");
  assert.deepEqual(restated.map(({ detail }) => detail), [
    "after compact, by its hook SessionStart",
  ]);
}

withLab(import.meta.url, "Claude Code answers what it owes after /compact", async () => {
  await using lab = new Lab({ rules: RULES, bare: true, permissions: ["mcp__mesh"] });
  // Without reminders, nothing but the briefing names the ask again.
  await lab.mesh.setUp({ config: { asks: { reminders: false } } });
  await lab.mesh.up();
  const claude = await lab.claude("api");
  const { call } = lab.mesh;
  const peer_id = await until("the peer", async () => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.find(({ status }) => status === "online")?.peer_id;
  });
  const id = await owes(call, peer_id);
  await claude.sendPrompt("/compact");
  await until("the compaction", () => claude.screen.includes("Compacted"));
  await claude.sendPrompt("Do what you owe");
  await isAnswered(call, id);
  const [request] = lab.model.asked("Do what you owe");
  assert(!request?.raw.includes('type=\\"ask\\"'), "the ask is not in the conversation");
});

withLab(
  import.meta.url,
  "Codex answers what it owes after /compact",
  async () => {
    await using lab = await new CodexLab(RULES, ["api"]).open({ asks: { reminders: false } });
    const codex = await lab.startCodex("api");
    const id = await owes(lab.call, "api-codex");
    await codex.sendPrompt("/compact");
    await until("the compaction", () => /compacted/i.test(codex.screen));
    await codex.sendPrompt("Do what you owe");
    await isAnswered(lab.call, id);
  },
  codexCli,
);

inLongForm(withLab)(
  import.meta.url,
  "opencode answers what it owes after /compact, as a message asks it",
  async () => {
    const briefed = /You owe an answer \(1\):\s+(ask-[0-9a-f]{12}) @/;
    const first = { match: briefed, steps: [ANSWER, ANSWER, { say: "Answered" }] };
    await using lab = new OpencodeLab([first, ...RULES]);
    await lab.mesh.setUp({ agent: "opencode" });
    await lab.mesh.up();
    await lab.start();
    await lab.waitForPeer("pending_first_turn");
    const id = await lab.ask("Which port?");
    await lab.waitForStage(id, "seen");
    await lab.waitForPeer("idle");
    lab.type("/compact");
    await until("the command", () => lab.screen.includes("/compact"));
    lab.press("Enter");
    await lab.waitForStage(id, "restated");
    const { reply } = await until("the answer", async () => {
      const ask = await lab.call(getAsk, { params: { id } });
      return ask.state === "closed" && ask;
    });
    assert.equal(reply, "Port 8080");
  },
  opencodeCli,
);

/** The next prompt after the command carries the briefing, and the model's answer proves it. */
async function isBriefedAfter(fixture: AgentFixture, command: string): Promise<void> {
  const { peer_id } = await fixture.start();
  const id = await owes(fixture.call, peer_id);
  // Copilot CLI adds a hint to the command in its composer.
  await fixture.draft(command, () => fixture.screen.includes(command));
  await fixture.press("Enter", () => fixture.isEmpty);
  await fixture.sendPrompt("Go on");
  await until("the proof that the briefing was read", async () => {
    const stages = await fixture.stages(id);
    return stages.includes("restated") && stages.includes("restated_seen");
  });
}

inLongForm(withAgentFixture)(
  import.meta.url,
  "Gemini CLI is told what it owes with the prompt after /compress",
  { agent: geminiCli, prepare: (lab, bin) => prepareGemini(lab, bin, RULES) },
  (fixture) => isBriefedAfter(fixture, "/compress"),
);

inLongForm(withAgentFixture)(
  import.meta.url,
  "Copilot CLI is told what it owes with the prompt after /compact",
  { agent: copilotCli, prepare: (lab, bin) => prepareCopilot(lab, bin, RULES) },
  (fixture) => isBriefedAfter(fixture, "/compact"),
);
