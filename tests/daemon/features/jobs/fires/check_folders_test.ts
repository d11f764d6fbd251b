/** The folders in which the checks of a job may run, and which a job may name. */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import { systemClock } from "kit/core/clock.ts";
import { type ProgramRunner, programRunnerOf } from "../../../../../daemon/host/programs.ts";
import { parseYaml } from "../../../../../daemon/app/config.ts";
import { post } from "../../../../support/daemon/peer_clients.ts";
import {
  connectWorker,
  create,
  createRecurring,
  template,
  waitForState,
} from "../../../../support/daemon/jobs.ts";
import { spawningWorld, type WorldSettings } from "../../../../support/daemon/spawns.ts";

const CHECKS = JSON.stringify({ tests: { argv: ["make", "check"], timeout_seconds: 60 } });

/** A world with an allowed folder, and a record of where checks ran. */
async function worldWithChecks(settings: WorldSettings = {}) {
  const cwds: string[] = [];
  const programs: ProgramRunner = {
    run(_argv, { cwd }) {
      cwds.push(cwd);
      return Promise.resolve({ exit: 0, output: "passed" });
    },
  };
  const at = await spawningWorld({ programs, settings: { "jobs.checks": CHECKS, ...settings } });
  return Object.assign(at, { cwds });
}

type WorldWithChecks = Awaited<ReturnType<typeof worldWithChecks>>;

/** Completes a job with checks by a worker with this path, and returns the job. */
async function completeJob({ w }: WorldWithChecks, path: string, state = "failed") {
  const api = await connectWorker(w, "api", { path });
  const asked = { prompt: "Mend", assigned_peer: "api", checks: ["tests"] };
  const { job_id } = await create(w, asked);
  await api.beginTurn();
  await api.endTurn("Mended");
  return await waitForState(w, job_id, state);
}

function outcomeOf({ result_data }: Awaited<ReturnType<typeof completeJob>>) {
  const [first] = result_data?.["checks"] as { exit: number | null; reason: string }[];
  return first;
}

Deno.test("a check does not run in a worker's folder outside the allowed ones", async () => {
  await using at = await worldWithChecks();
  const platform = await Deno.makeTempDir();
  const found = await completeJob(at, platform);
  assert.deepEqual([found.state, found.state_reason], ["failed", "check_not_run"]);
  assert.equal(outcomeOf(found)?.exit, null);
  assert.match(outcomeOf(found)?.reason ?? "", /was not run in .*spawn\.allowed_paths/);
  assert.deepEqual(at.cwds, []);
  await Deno.remove(platform, { recursive: true });
});

Deno.test("a check does not run when no folder is allowed", async () => {
  await using at = await worldWithChecks({ "spawn.allowed_paths": "[]" });
  const found = await completeJob(at, at.folder);
  assert.deepEqual([found.state_reason, at.cwds], ["check_not_run", []]);
});

Deno.test("a check runs in the target of a link only if the target is allowed", async () => {
  await using at = await worldWithChecks();
  const platform = await Deno.makeTempDir();
  const real = join(at.folder, "real");
  await Deno.mkdir(real);
  await Deno.symlink(real, join(at.folder, "inner"));
  await Deno.symlink(platform, join(at.folder, "outer"));
  await completeJob(at, join(at.folder, "inner"), "completed");
  assert.deepEqual(at.cwds, [real]);
  await Deno.remove(platform, { recursive: true });
});

Deno.test("a check follows the links at the time it runs", async () => {
  await using at = await worldWithChecks();
  const platform = await Deno.makeTempDir();
  await Deno.symlink(platform, join(at.folder, "work"));
  assert.equal((await completeJob(at, join(at.folder, "work"))).state_reason, "check_not_run");
  assert.deepEqual(at.cwds, []);
  await Deno.remove(platform, { recursive: true });
});

Deno.test("POST /jobs with a folder outside the allowed ones is refused", async () => {
  await using at = await worldWithChecks();
  const { w, folder } = at;
  await Deno.symlink("/", join(folder, "root"));
  const own = { prompt: "Go", backend: "codex" };
  for (const path of ["/", "~", `${folder}/..`, `${folder}-2`, join(folder, "root"), "/no/such"]) {
    for (const when of [{}, { due_at: "2099-01-01T00:00:00Z" }, { cron: "0 9 * * *" }]) {
      const { status, error } = await post(w, "/jobs", { ...own, path, ...when });
      assert.deepEqual([path, status, error], [path, 403, "path_not_allowed"]);
    }
  }
  assert.equal((await post(w, "/jobs", { ...own, path: folder })).status, 200);
});

Deno.test("a program does not run in a folder that was replaced by a link", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const [real, platform] = [join(dir, "real"), join(dir, "outside")];
  await Deno.mkdir(platform);
  await Deno.symlink(platform, real); // As an agent could do after the folder was approved.
  const programs = programRunnerOf(systemClock, { PATH: Deno.env.get("PATH") ?? "" });
  const { signal } = new AbortController();
  const ran = await programs.run(["touch", "here"], { cwd: real, timeout_ms: 20_000, signal });
  assert.equal(ran.exit, null);
  assert.match(ran.reason ?? "", /could not be started: .*real.* is a link now/);
  assert.deepEqual([...Deno.readDirSync(platform)], []);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("no agent starts in a folder that was replaced by a link after the job was created", async () => {
  await using at = await worldWithChecks();
  const { w, folder, terminals } = at;
  const work = join(folder, "work");
  await Deno.mkdir(work);
  const asked = { title: "Go", path: work, backend: "codex", cron: "*/5 * * * *" } as const;
  const { calendar_id } = await createRecurring(w, asked);
  await Deno.remove(work);
  await Deno.symlink("/", work);
  await w.tick(300);
  const { last_occurrence_work_id } = await template(w, calendar_id);
  const { state_reason } = await waitForState(w, last_occurrence_work_id ?? "", "unavailable");
  assert.deepEqual([state_reason, terminals.launches.length], ["path_not_allowed", 0]);
});

/** The sandbox of docs/jobs.md, with a test program in it. */
function inSandbox(program: readonly string[]): string[] {
  const page = Deno.readTextFileSync(new URL("../../../../../docs/jobs.md", import.meta.url));
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, block = ""]) => block);
  const example = Example.parse(parseYaml(blocks.find((block) => block.includes("bwrap")) ?? ""));
  const { argv } = example.jobs.checks.tests;
  return [...argv.slice(0, argv.indexOf("make")), ...program];
}

const Example = z.object({
  jobs: z.object({ checks: z.object({ tests: z.object({ argv: z.array(z.string()) }) }) }),
});

function bubblewrapWorks(): boolean {
  try {
    const args = ["--unshare-all", "--ro-bind", "/", "/", "true"];
    return new Deno.Command("bwrap", { args, stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test({
  name: "a check in the sandbox of docs/jobs.md can write only in its folder",
  ignore: !bubblewrapWorks(),
  async fn() {
    const [folder, platform] = [await Deno.makeTempDir(), await Deno.makeTempDir()];
    const env = { PATH: Deno.env.get("PATH") ?? "", SECRET: "s3cret" };
    const script = `touch made; touch ${platform}/escaped /etc/escaped; env; ls -A /home /root`;
    const where = { cwd: await Deno.realPath(folder), timeout_ms: 20_000 };
    const { signal } = new AbortController();
    const argv = inSandbox(["sh", "-c", script]);
    const { output } = await programRunnerOf(systemClock, env).run(argv, { ...where, signal });
    assert.match(output, /\/home:\n\n\/root:\n/);
    assert.ok(!output.includes("s3cret"));
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["made"]);
    assert.deepEqual([...Deno.readDirSync(platform)], []);
    for (const dir of [folder, platform]) await Deno.remove(dir, { recursive: true });
  },
});
