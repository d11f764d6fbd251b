/** Real agents whose turn for a job is interrupted: it ends, and no later turn completes it. */

import assert from "node:assert/strict";
import { createJob, getJob } from "protocol/jobs/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import {
  codexCli,
  geminiCli,
  type InstallResult,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, withLab } from "../../support/e2e/lab.ts";
import {
  type AgentFixture,
  type AgentUnderTest,
  withAgentFixture,
} from "../../support/e2e/agent_harness.ts";
import { prepareGemini, prepareOpencode } from "../../support/e2e/agent_setups.ts";
import type { ScriptedModel } from "../../../tools/selftest/model/scripted_model.ts";
import { CodexLab } from "../../support/e2e/codex_lab.ts";
import { until } from "../../support/waiting.ts";

/** A later prompt may be sent together with that of the job, so it is looked for first. */
const RULES: readonly ScriptedReply[] = [
  { match: /What time is it/, steps: [{ say: "It is noon" }] },
  { match: /Name the lake/, steps: [{ say: "Too late" }] },
];

/** The text that each agent shows while a turn can be interrupted. */
const AT_WORK = /esc to cancel|esc interrupt/;

type Call = Lab["mesh"]["call"];

/** Gives the peer a job, and waits until its turn has begun. */
async function jobInTurn(call: Call, assigned_peer: string): Promise<string> {
  const created = await call(createJob, { body: { prompt: "Name the lake", assigned_peer } });
  assert("job_id" in created);
  await until("its turn", async () => (await jobOf(call, created.job_id)).state === "running");
  return created.job_id;
}

async function jobOf(call: Call, id: string) {
  const job = await call(getJob, { params: { id } });
  assert("job_id" in job);
  return job;
}

/** While the model is silent, the agent gets a job and is interrupted: the job ends. */
async function interrupts(
  { call, model, peer, isAtWork, interrupt }: {
    readonly call: Call;
    readonly model: ScriptedModel;
    readonly peer: string;
    isAtWork(): boolean;
    interrupt(): unknown;
  },
): Promise<string> {
  const held = model.hold();
  const id = await jobInTurn(call, peer);
  await until("the work", isAtWork);
  await interrupt();
  await until("the end of the job", async () => (await jobOf(call, id)).state !== "running");
  const { state, state_reason, result_summary } = await jobOf(call, id);
  assert.deepEqual([state, state_reason, result_summary], ["failed", "turn_interrupted", null]);
  held.release();
  return id;
}

const CLAIM = "an interrupted turn fails its job, and the next prompt completes nothing";

withLab(import.meta.url, `Claude Code: ${CLAIM}`, async () => {
  await using lab = new Lab({ rules: RULES, bare: true, permissions: ["mcp__mesh"] });
  await lab.mesh.setUp();
  await lab.mesh.up();
  const claude = await lab.claude("api");
  const { call } = lab.mesh;
  await until("the peer", async () => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.some(({ status }) => status === "online");
  });
  const id = await interrupts({
    call,
    model: lab.model,
    peer: "api-claude-code",
    isAtWork: () => lab.model.asked("Name the lake").length > 0,
    interrupt: () => claude.press("Escape"),
  });
  await claude.sendPrompt("What time is it");
  await until("the answer", () => claude.screen.includes("It is noon"));
  assert.equal((await jobOf(call, id)).state, "failed");
});

interface AgentWithScript extends AgentUnderTest {
  readonly model: ScriptedModel;
}

interface Case {
  readonly title: string;
  readonly agent: () => InstallResult;
  readonly prepare: (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentWithScript;
  readonly interrupt: (fixture: AgentFixture<AgentWithScript>) => unknown;
}

/**
 * opencode needs two Escapes in a short time, and shows the effect of each. An Escape that it has
 * not read when the next prompt is typed would become Alt with the first letter of that prompt.
 */
async function interruptOpencode(fixture: AgentFixture<AgentWithScript>): Promise<void> {
  const hasEnded = () => fixture.screen.includes("· interrupted");
  const isAsked = () => fixture.screen.includes("again to interrupt");
  await fixture.press("Escape", () => isAsked() || hasEnded());
  if (!hasEnded()) await fixture.press("Escape", hasEnded);
}

// Copilot CLI needs two as well, and two more undo the whole turn. Its records are tested in
// `tests/daemon/features/agents/sessions/last_end_test.ts`.
const CASES: readonly Case[] = [
  {
    title: "Gemini CLI",
    agent: geminiCli,
    prepare: prepareGemini,
    interrupt: (fixture) => fixture.type("Escape"),
  },
  {
    title: "opencode",
    agent: opencodeCli,
    prepare: prepareOpencode,
    interrupt: interruptOpencode,
  },
];

for (const { title, agent, prepare, interrupt } of CASES) {
  inLongForm(withAgentFixture)(
    import.meta.url,
    `${title}: ${CLAIM}`,
    { agent, prepare: (lab, bin) => prepare(lab, bin, RULES) },
    async (fixture: AgentFixture<AgentWithScript>) => {
      const { call, agentUnderTest: { model } } = fixture;
      const peer = await fixture.start();
      const id = await interrupts({
        call,
        model,
        peer: peer.peer_id,
        isAtWork: () => AT_WORK.test(fixture.screen),
        interrupt: () => interrupt(fixture),
      });
      await fixture.sendPrompt("What time is it");
      await until("the answer", () => fixture.screen.includes("It is noon"));
      assert.equal((await jobOf(call, id)).state, "failed");
    },
  );
}

for (const args of [[], ["--no-daemon"]]) {
  inLongForm(withLab)(
    import.meta.url,
    `Codex${args.map((arg) => ` ${arg}`).join("")}: ${CLAIM}`,
    async () => {
      await using lab = await new CodexLab(RULES, ["api"]).open();
      const api = await lab.startCodex("api", ...args);
      const id = await interrupts({
        call: lab.call,
        model: lab.model,
        peer: "api-codex",
        isAtWork: () => lab.model.asked("Name the lake").length > 0,
        interrupt: () => api.press("Escape"),
      });
      await api.sendPrompt("What time is it");
      await until("the answer", () => api.screen.includes("It is noon"));
      assert.equal((await jobOf(lab.call, id)).state, "failed");
    },
    codexCli,
  );
}
