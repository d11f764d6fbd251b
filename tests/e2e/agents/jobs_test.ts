/** Every other real agent: started for a job, completes it with its turn, and is ended. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { cancelJob, createJob, getJob, runJob, TERMINAL_STATES } from "protocol/jobs/contract.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import {
  codexCli,
  copilotCli,
  geminiCli,
  type InstallResult,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, type Lab } from "../../support/e2e/lab.ts";
import {
  type AgentFixture,
  type AgentUnderTest,
  withAgentFixture,
} from "../../support/e2e/agent_harness.ts";
import { run } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";
import {
  prepareCodex,
  prepareCopilot,
  prepareGemini,
  prepareOpencode,
  prepareStandaloneCodex,
  stopServer,
  trustHooks,
} from "../../support/e2e/agent_setups.ts";
import { meshArguments } from "../../support/programs/program.ts";

/** A turn of two answers: the job's result is the last of them. */
const RULES: readonly ScriptedReply[] = [{
  match: /Name the lake/,
  steps: [{ say: "Let me see who I am" }, { tool: "whoami" }, { say: "It is Lake Constance" }],
}];

interface Case {
  readonly title: string;
  readonly agent: () => InstallResult;
  readonly prepare: (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentUnderTest;
  /** Steps of the agent's user before the test, and after it. */
  readonly before?: (fixture: AgentFixture) => Promise<void>;
  readonly after?: (fixture: AgentFixture) => Promise<void>;
}

const CASES: readonly Case[] = [
  { title: "Codex", agent: codexCli, prepare: prepareCodex, before: trustHooks, after: stopServer },
  { title: "Codex on its own", agent: codexCli, prepare: prepareStandaloneCodex },
  { title: "Copilot CLI", agent: copilotCli, prepare: prepareCopilot },
  { title: "Gemini CLI", agent: geminiCli, prepare: prepareGemini },
  { title: "opencode", agent: opencodeCli, prepare: prepareOpencode },
];

/** The other agents are in the long form. */
const SHORT = "Codex";

/** Runs one of our commands to its end. */
async function mesh({ env }: AgentFixture, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: meshArguments(args),
    env: { ...env },
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** A daemon that may start the agent by its command, in a folder that its user has trusted. */
function spawnSettings({ dir }: Lab, { backend, bin, command, env }: AgentUnderTest) {
  const commands = { [backend]: [bin, ...command.slice(1)] };
  return { spawn: { commands, allowed_paths: [dir], env } };
}

for (const { title, agent, prepare, before, after } of CASES) {
  const define = title === SHORT ? withAgentFixture : inLongForm(withAgentFixture);
  define(
    import.meta.url,
    `${title} is started for a job, completes it with its turn, and is ended`,
    { agent, prepare: (lab, bin) => prepare(lab, bin, RULES), config: spawnSettings },
    async (fixture) => {
      const { backend } = fixture.agentUnderTest;
      await before?.(fixture);
      const jobOptions = ["--path", fixture.path, "--backend", backend];
      const created = await mesh(
        fixture,
        "jobs",
        "create",
        "Name the lake",
        ...jobOptions,
        "--follow",
      );
      assert.equal(created.code, 0, created.out + created.err);
      assert.match(created.out, /completed\nIt is Lake Constance\n$/);
      const id = /work-[0-9a-f]{12}/.exec(created.out)?.[0] ?? "";
      const job = await fixture.call(getJob, { params: { id } });
      assert("job_id" in job);
      const [attempt] = job.runner.attempts;
      assert.deepEqual([attempt?.executor, attempt?.state], ["spawned", "completed"]);
      const params = { id: attempt?.executor_peer_id ?? "" };
      const peer = await until("its retirement", async () => {
        const found = await fixture.call(getPeer, { params, query: {} });
        return found.status === "retired" && found;
      });
      assert(peer.agent_pid !== null && !isAlive(peer.agent_pid), "its process has ended");
      assert.equal(fixture.panes().includes(peer.pane_id ?? ""), false, "its pane is closed");
      await after?.(fixture);
    },
  );
}

inLongForm(withAgentFixture)(
  import.meta.url,
  "a job that is cancelled is interrupted, also in Codex's shared server",
  { agent: codexCli, prepare: (lab, bin) => prepareCodex(lab, bin, RULES), config: spawnSettings },
  async (fixture) => {
    await trustHooks(fixture);
    const modelHold = fixture.agentUnderTest.model.hold();
    const jobOptions = { path: fixture.path, backend: "codex" as const };
    const created = await fixture.call(createJob, {
      body: { prompt: "Name the lake", ...jobOptions },
    });
    assert("job_id" in created);
    const asked = () => fixture.agentUnderTest.model.occurrences("Name the lake");
    await until("its turn", () => asked() > 0);
    await fixture.call(cancelJob, { params: { id: created.job_id }, body: {} });
    await until("its end", async () => (await fixture.peer({ status: "retired" })) !== undefined);
    assert.deepEqual(fixture.panes(), []);
    const rollouts = join(fixture.lab.dir, "home/.codex/sessions");
    await until("the break", () => run("grep", ["-r", "turn_aborted", rollouts]));
    modelHold.release();
    await stopServer(fixture);
  },
);

for (const { title, agent, prepare, before, after } of CASES) {
  inLongForm(withAgentFixture)(
    import.meta.url,
    `a recurring job resumes the session of ${title}, as the same peer`,
    { agent, prepare: (lab, bin) => prepare(lab, bin, RULES), config: spawnSettings },
    async (fixture) => {
      await before?.(fixture);
      const asked = {
        prompt: "Name the lake",
        path: fixture.path,
        backend: fixture.agentUnderTest.backend,
      };
      const created = await fixture.call(createJob, { body: { ...asked, cron: "@yearly" } });
      assert("calendar_id" in created);
      const params = { id: created.calendar_id };
      const ran = async () => {
        const run = await fixture.call(runJob, { params, body: {} });
        assert("job_id" in run);
        const done = await until("its end", async () => {
          const job = await fixture.call(getJob, { params: { id: run.job_id } });
          return "job_id" in job && TERMINAL_STATES.includes(job.state) && job;
        });
        // Its process has ended by then, and writes no more.
        await until("its release", () => fixture.peer({ status: "offline" }));
        const { executor, executor_peer_id } = done.runner.attempts[0] ?? {};
        return [done.state, done.result_summary, executor, executor_peer_id];
      };
      const [state, summary, executor, peer_id] = await ran();
      assert.deepEqual([state, summary, executor], [
        "completed",
        "It is Lake Constance",
        "spawned",
      ]);
      assert.deepEqual(await ran(), [state, summary, "resumed", peer_id]);
      await after?.(fixture);
    },
  );
}
