/** Real agents in a long turn that are interrupted: by what proof, without a dialog, and usable. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { interruptPeer } from "protocol/interrupts.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { getPeer, registerPeer } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import type { ScriptedModel } from "../../../tools/selftest/model/scripted_model.ts";
import { type AgentFixture, type AgentUnderTest, withAgentFixture } from "../../support/e2e/agent_harness.ts";
import {
  prepareCopilot,
  prepareGemini,
  prepareOpencode,
} from "../../support/e2e/agent_setups.ts";
import { CodexLab } from "../../support/e2e/codex_lab.ts";
import {
  codexCli,
  copilotCli,
  geminiCli,
  type InstallResult,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

const RULES: readonly ScriptedReply[] = [
  { match: /What time is it/, steps: [{ say: "It is noon" }] },
  { match: /Name the lake/, steps: [{ say: "Too late" }] },
];

/** A running agent as the peer of a mesh. */
interface AgentAtWork {
  readonly call: Lab["mesh"]["call"];
  readonly model: Pick<ScriptedModel, "hold">;
  readonly peer_id: string;
  readonly screen: () => string;
  /** True if its screen shows that a turn runs. */
  readonly isAtWork: () => boolean;
  /** A draft that is left in its composer before the interrupt. */
  readonly draft?: () => Promise<unknown>;
}

/** Interrupts the turn of an ask as the orchestrator of its circle, then asks again. */
async function interruptsAndAsksAgain(agent: AgentAtWork, by: RegExp): Promise<void> {
  const { call, model, peer_id, screen, isAtWork } = agent;
  const { circle, path } = await call(getPeer, { params: { id: peer_id }, query: {} });
  const boss = await call(registerPeer, {
    body: { name: "boss", backend: "sdk", role: "orchestrator", circle, path: path ?? "/" },
  });
  const interrupt = () =>
    call(interruptPeer, {
      params: { id: peer_id },
      query: { from_peer: boss.peer_id },
      headers: { "x-mesh-certificate": boss.birth_certificate ?? "" },
      body: {},
    });
  const ask = (text: string) =>
    call(openAsk, { body: { from_peer: "cli", to_peer: peer_id, text } });
  const idle = await interrupt();
  assert.deepEqual([idle.outcome, idle.by], ["not_busy", null], JSON.stringify(idle));
  const held = model.hold();
  const { correlation_id } = await ask("Name the lake");
  await until("the work", isAtWork);
  await agent.draft?.();
  const done = await interrupt();
  assert.equal(done.outcome, "interrupted", `${JSON.stringify(done)}\n${screen()}`);
  assert.match(done.by ?? "", by);
  held.release();
  const again = await interrupt();
  assert.equal(again.outcome, "not_busy", `${JSON.stringify(again)}\n${screen()}`);
  const { stages } = await call(getTrace, { params: { trace_id: correlation_id ?? "" } });
  const [ended] = stages.filter(({ stage }) => stage === "turn_interrupted");
  assert.match(ended?.detail ?? "", /^@boss asked for it; seen by its /);
  console.log(JSON.stringify(done), screen());
  if (agent.draft) return;
  await ask("What time is it");
  await until("the answer", () => screen().includes("It is noon"));
  assert.doesNotMatch(screen(), /rewind|edit previous/i);
}

const CLAIM = "a long turn is interrupted, no dialog opens, and the next ask is answered";

withLab(import.meta.url, `Claude Code: ${CLAIM}`, async () => {
  await using lab = new Lab({ rules: RULES, bare: true, permissions: ["mcp__mesh"] });
  await lab.mesh.setUp();
  await lab.mesh.up();
  const claude = await lab.claude("api");
  const { call } = lab.mesh;
  const { peer_id } = await until("the peer", async () => {
    const peer = await call(getPeer, { params: { id: "api-claude-code" }, query: {} })
      .catch(() => undefined);
    return peer?.status === "online" && peer;
  });
  await interruptsAndAsksAgain({
    call,
    model: lab.model,
    peer_id,
    screen: () => claude.screen,
    isAtWork: () => lab.model.asked("Name the lake").length > 0,
  }, /^Escape/);
});

interface AgentWithScript extends AgentUnderTest {
  readonly model: ScriptedModel;
}

interface Case {
  readonly title: string;
  readonly agent: () => InstallResult;
  readonly prepare: (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentWithScript;
  readonly by: RegExp;
  readonly work: RegExp;
}

const CASES: readonly Case[] = [
  { title: "Gemini CLI", agent: geminiCli, prepare: prepareGemini, by: /^Escape in/, work: /esc to cancel/ },
  { title: "opencode", agent: opencodeCli, prepare: prepareOpencode, by: /client/, work: /esc interrupt/ },
  { title: "Copilot CLI", agent: copilotCli, prepare: prepareCopilot, by: /^Escape twice/, work: /Working/ },
];

for (const { title, agent, prepare, by, work } of CASES) {
  inLongForm(withAgentFixture)(
    import.meta.url,
    `${title}: ${CLAIM}`,
    { agent, prepare: (lab, bin) => prepare(lab, bin, RULES) },
    async (fixture: AgentFixture<AgentWithScript>) => {
      const { peer_id } = await fixture.start();
      await interruptsAndAsksAgain({
        call: fixture.call,
        model: fixture.agentUnderTest.model,
        peer_id,
        screen: () => fixture.screen,
        isAtWork: () => work.test(fixture.screen),
      }, by);
    },
  );
}

for (const [args, by] of [[[], /server/], [["--no-daemon"], /^Escape/]] as const) {
  const define = args.length === 0 ? withLab : inLongForm(withLab);
  define(
    import.meta.url,
    `Codex${args.map((arg) => ` ${arg}`).join("")}: ${CLAIM}`,
    async () => {
      await using lab = await new CodexLab(RULES, ["api"]).open();
      const api = await lab.startCodex("api", ...args);
      const peer = await lab.peer("api-codex");
      await interruptsAndAsksAgain({
        call: lab.call,
        model: lab.model,
        peer_id: peer?.peer_id ?? "",
        screen: () => api.screen,
        isAtWork: () => lab.model.asked("Name the lake").length > 0,
      }, by);
    },
    codexCli,
  );
}
