/** Real agents whose turn for a job is interrupted: the job ends, and no later turn completes it. */

import assert from "node:assert/strict";
import { createJob, getJob } from "../../../daemon/features/jobs/contract.ts";
import { listPeers } from "../../../daemon/features/peers/contract.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import {
  codexCli,
  copilotCli,
  geminiCli,
  type Installed,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import {
  type AgentFixture,
  type AgentUnderTest,
  withAgentFixture,
} from "../../support/e2e/agent_harness.ts";
import { prepareCopilot, prepareGemini, prepareOpencode } from "../../support/e2e/agent_setups.ts";
import { CodexLab } from "../../support/e2e/codex_lab.ts";
import { until } from "../../support/waiting.ts";

/** The job's turn lasts longer than the test. A later prompt may be sent together with the job's. */
const RULES: readonly ScriptedReply[] = [
  { match: /What time is it/, steps: [{ say: "It is noon" }] },
  { match: /Name the lake/, steps: [{ sleep_ms: 90_000 }, { say: "Too late" }] },
];

/** What each agent shows while a turn can be interrupted. */
const AT_WORK = /esc/i;

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

async function isInterrupted(call: Call, id: string): Promise<void> {
  await until("the end of the job", async () => (await jobOf(call, id)).state !== "running");
  const { state, state_reason, result_summary } = await jobOf(call, id);
  assert.deepEqual([state, state_reason, result_summary], ["failed", "turn_interrupted", null]);
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
  const id = await jobInTurn(call, "api-claude-code");
  await until("the work", () => lab.model.asked("Name the lake").length > 0);
  claude.press("Escape");
  await isInterrupted(call, id);
  await claude.sendPrompt("What time is it?");
  await until("the answer", () => claude.screen.includes("It is noon"));
  assert.equal((await jobOf(call, id)).state, "failed");
});

interface Case {
  readonly title: string;
  readonly agent: () => Installed;
  readonly prepare: (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentUnderTest;
  /** The keys by which its user interrupts a turn. */
  readonly keys: readonly string[];
}

const CASES: readonly Case[] = [
  { title: "Copilot CLI", agent: copilotCli, prepare: prepareCopilot, keys: ["Escape", "Escape"] },
  { title: "Gemini CLI", agent: geminiCli, prepare: prepareGemini, keys: ["Escape"] },
  { title: "opencode", agent: opencodeCli, prepare: prepareOpencode, keys: ["Escape", "Escape"] },
];

for (const { title, agent, prepare, keys } of CASES) {
  withAgentFixture(
    import.meta.url,
    `${title}: ${CLAIM}`,
    { agent, prepare: (lab, bin) => prepare(lab, bin, RULES) },
    async (fixture: AgentFixture) => {
      const { call } = fixture;
      const peer = await fixture.start();
      const id = await jobInTurn(call, peer.peer_id);
      await until("the work", () => fixture.screen.match(AT_WORK) !== null);
      for (const key of keys) fixture.type(key);
      await isInterrupted(call, id);
      await fixture.sendPrompt("What time is it?");
      await until("the answer", () => fixture.screen.includes("It is noon"));
      assert.equal((await jobOf(call, id)).state, "failed");
    },
  );
}

for (const args of [[], ["--no-daemon"]]) {
  withLab(
    import.meta.url,
    `Codex${args.map((arg) => ` ${arg}`).join("")}: ${CLAIM}`,
    async () => {
      await using lab = await new CodexLab(RULES, ["api"]).open();
      const api = await lab.startCodex("api", ...args);
      const id = await jobInTurn(lab.call, "api-codex");
      await until("the work", () => lab.model.asked("Name the lake").length > 0);
      api.press("Escape");
      await isInterrupted(lab.call, id);
      await api.sendPrompt("What time is it?");
      await until("the answer", () => api.screen.includes("It is noon"));
      assert.equal((await jobOf(lab.call, id)).state, "failed");
    },
    codexCli,
  );
}
