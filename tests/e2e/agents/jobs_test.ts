/** Every other real agent: started for a job, completes it with its turn, and is ended. */

import assert from "node:assert/strict";
import { join } from "node:path";
import {
  cancelJob,
  createJob,
  getJob,
  runJob,
  TERMINAL,
} from "../../../daemon/features/jobs/contract.ts";
import { getPeer } from "../../../daemon/features/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import type { Rule } from "../../../daemon/features/agents/selftest/fixture.ts";
import {
  codexCli,
  copilotCli,
  geminiCli,
  type Installed,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import type { Lab } from "../../support/e2e/lab.ts";
import { type Office, withOffice, type Worker } from "../../support/e2e/agent_harness.ts";
import { MAIN, run } from "../../support/e2e/programs.ts";
import { until } from "../../support/e2e/waiting.ts";
import {
  hireCodex,
  hireCopilot,
  hireGemini,
  hireLoneCodex,
  hireOpencode,
  stopServer,
  trustHooks,
} from "../../support/e2e/agent_setups.ts";

/** A turn of two answers: what comes of the job is the last of them. */
const RULES: readonly Rule[] = [{
  match: /Name the lake/,
  steps: [{ say: "Let me see who I am" }, { tool: "whoami" }, { say: "It is Lake Constance" }],
}];

interface Case {
  readonly title: string;
  readonly agent: () => Installed;
  readonly hire: (lab: Lab, bin: string, rules: readonly Rule[]) => Worker;
  /** What its user has done before; what the user does afterwards. */
  readonly before?: (office: Office) => Promise<void>;
  readonly after?: (office: Office) => Promise<void>;
}

const CASES: readonly Case[] = [
  { title: "Codex", agent: codexCli, hire: hireCodex, before: trustHooks, after: stopServer },
  { title: "Codex on its own", agent: codexCli, hire: hireLoneCodex },
  { title: "Copilot CLI", agent: copilotCli, hire: hireCopilot },
  { title: "Gemini CLI", agent: geminiCli, hire: hireGemini },
  { title: "opencode", agent: opencodeCli, hire: hireOpencode },
];

/** Runs a command of ours to its end. */
async function mesh({ env }: Office, ...words: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", MAIN, ...words],
    env: { ...env },
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** A daemon that may start the agent by its command, where its user would. */
function spawning({ dir }: Lab, { backend, bin, command, env }: Worker) {
  const commands = { [backend]: [bin, ...command.slice(1)] };
  return { spawn: { commands, allowed_paths: [dir], env } };
}

for (const { title, agent, hire, before, after } of CASES) {
  withOffice(
    import.meta.url,
    `${title} is started for a job, completes it with its turn, and is ended`,
    { agent, hire: (lab, bin) => hire(lab, bin, RULES), config: spawning },
    async (office) => {
      const { backend } = office.worker;
      await before?.(office);
      const where = ["--path", office.path, "--backend", backend];
      const made = await mesh(office, "jobs", "create", "Name the lake", ...where, "--follow");
      assert.equal(made.code, 0, made.out + made.err);
      assert.match(made.out, /completed\nIt is Lake Constance\n$/);
      const id = /work-[0-9a-f]{12}/.exec(made.out)?.[0] ?? "";
      const job = await office.call(getJob, { params: { id } });
      assert("job_id" in job);
      const [attempt] = job.runner.attempts;
      assert.deepEqual([attempt?.executor, attempt?.state], ["spawned", "completed"]);
      const params = { id: attempt?.executor_peer_id ?? "" };
      const peer = await until("its retirement", async () => {
        const found = await office.call(getPeer, { params, query: {} });
        return found.status === "retired" && found;
      });
      assert(peer.agent_pid !== null && !isAlive(peer.agent_pid), "its process has ended");
      assert.equal(office.panes().includes(peer.pane_id ?? ""), false, "its pane is closed");
      await after?.(office);
    },
  );
}

withOffice(
  import.meta.url,
  "a job that is called off is broken off, also in Codex's shared server",
  { agent: codexCli, hire: (lab, bin) => hireCodex(lab, bin, RULES), config: spawning },
  async (office) => {
    await trustHooks(office);
    const held = office.worker.model.hold();
    const where = { path: office.path, backend: "codex" as const };
    const made = await office.call(createJob, { body: { prompt: "Name the lake", ...where } });
    assert("job_id" in made);
    const asked = () => office.worker.model.times("Name the lake");
    await until("its turn", () => asked() > 0);
    await office.call(cancelJob, { params: { id: made.job_id }, body: {} });
    await until("its end", async () => (await office.peer({ status: "retired" })) !== undefined);
    assert.deepEqual(office.panes(), []);
    const rollouts = join(office.lab.dir, "home/.codex/sessions");
    await until("the break", () => run("grep", ["-r", "turn_aborted", rollouts]));
    held.release();
    await stopServer(office);
  },
);

/** A minute more than continuous integration has; `deno task agents` tries them all. */
const RESUMED = Deno.env.has("MESH_ALL_AGENTS") ? CASES : CASES.slice(0, 2);

for (const { title, agent, hire, before, after } of RESUMED) {
  withOffice(
    import.meta.url,
    `a recurring job takes up the session of ${title} again, as the peer that it was`,
    { agent, hire: (lab, bin) => hire(lab, bin, RULES), config: spawning },
    async (office) => {
      await before?.(office);
      const asked = { prompt: "Name the lake", path: office.path, backend: office.worker.backend };
      const made = await office.call(createJob, { body: { ...asked, cron: "@yearly" } });
      assert("calendar_id" in made);
      const params = { id: made.calendar_id };
      const ran = async () => {
        const run = await office.call(runJob, { params, body: {} });
        assert("job_id" in run);
        const done = await until("its end", async () => {
          const job = await office.call(getJob, { params: { id: run.job_id } });
          return "job_id" in job && TERMINAL.includes(job.state) && job;
        });
        // Its process has ended by then, and writes no more.
        await until("its release", () => office.peer({ status: "offline" }));
        const { executor, executor_peer_id } = done.runner.attempts[0] ?? {};
        return [done.state, done.result_summary, executor, executor_peer_id];
      };
      const [state, said, executor, peer_id] = await ran();
      assert.deepEqual([state, said, executor], ["completed", "It is Lake Constance", "spawned"]);
      assert.deepEqual(await ran(), [state, said, "resumed", peer_id]);
      await after?.(office);
    },
  );
}
