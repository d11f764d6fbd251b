import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { type ProgramRunner, programRunnerOf } from "../../../../../daemon/host/programs.ts";
import { type World, world } from "../../../../support/world.ts";
import { post } from "../../../../support/daemon/peer_clients.ts";
import {
  attemptOf,
  cancel,
  connectWorker,
  create,
  job,
  update,
  waitForState,
} from "../../../../support/daemon/jobs.ts";

const CHECKS = {
  tests: { argv: ["deno", "task", "test"], timeout_seconds: 60 },
  lint: { argv: ["deno", "lint"] },
};
const HOME = await Deno.realPath(await Deno.makeTempDir({ prefix: "mesh-checks-" }));
globalThis.addEventListener("unload", () => Deno.removeSync(HOME, { recursive: true }));
const settings = { "jobs.checks": JSON.stringify(CHECKS), "spawn.allowed_paths": HOME };
const at_home = { path: HOME };

/** Fake programs that end when and how the test decides. */
function scriptedPrograms(exits: Readonly<Record<string, number | null>>) {
  const ran: { argv: readonly string[]; cwd: string; timeout_ms: number }[] = [];
  let barrier = Promise.resolve();
  const programs: ProgramRunner = {
    async run(argv, { cwd, timeout_ms }) {
      ran.push({ argv, cwd, timeout_ms });
      await barrier;
      return { exit: exits[argv.at(-1) ?? ""] ?? null, output: `${"x".repeat(9000)} end` };
    },
  };
  return {
    programs,
    ran,
    /** Resolves when the first program runs. */
    async waitForProgram(w: World): Promise<void> {
      for (let turn = 0; turn < 100 && ran.length === 0; turn++) await w.clock.settle();
      assert.ok(ran.length > 0);
    },
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      barrier = promise;
      return resolve;
    },
  };
}

Deno.test("a job with checks is completed after they pass, with their outcomes", async () => {
  const { programs, ran, waitForProgram: begun, hold } = scriptedPrograms({ test: 0, lint: 0 });
  const release = hold();
  await using w = world({ settings, programs });
  const api = await connectWorker(w, "api", at_home);
  const checks = ["tests", "lint"];
  const { job_id } = await create(w, { prompt: "Mend", assigned_peer: "api", checks });
  await api.beginTurn();
  await api.endTurn("Mended");
  await begun(w);
  const checking = await job(w, job_id);
  assert.deepEqual([checking.state, checking.phase], ["running", "checking"]);
  assert.deepEqual(ran, [{ argv: CHECKS.tests.argv, cwd: HOME, timeout_ms: 60_000 }]);
  await api.endTurn("Another turn");
  release();
  const { result_summary, result_data } = await waitForState(w, job_id, "completed");
  assert.equal(result_summary, "Mended");
  const outcomes = result_data?.["checks"] as { name: string; exit: number; output_tail: string }[];
  assert.deepEqual(outcomes.map(({ name, exit }) => [name, exit]), [["tests", 0], ["lint", 0]]);
  assert.equal(ran[1]?.timeout_ms, 300_000);
  assert.equal(outcomes[0]?.output_tail.length, 4096);
  assert.match(outcomes[0]?.output_tail ?? "", / end$/);
});

Deno.test("a failed check fails the job, even if it was reported as completed [c2.job.checks]", async () => {
  const { programs, ran } = scriptedPrograms({ test: 1, lint: 0 });
  await using w = world({ settings, programs });
  const api = await connectWorker(w, "api", at_home);
  const checks = ["tests", "lint"];
  const byTurn = await create(w, { prompt: "Mend", assigned_peer: "api", checks });
  await api.beginTurn();
  await api.endTurn("Mended");
  await waitForState(w, byTurn.job_id, "failed");
  const byHand = await create(w, { prompt: "Mend", assigned_peer: "api", checks });
  await api.beginTurn();
  const attempt_id = await attemptOf(w, byHand.job_id);
  await update(w, byHand.job_id, { state: "completed", attempt_id, result_data: { kept: true } });
  for (const { job_id } of [byTurn, byHand]) {
    const { state_reason, error } = await waitForState(w, job_id, "failed");
    assert.equal(state_reason, "check_failed");
    assert.equal(error, 'The check "tests" failed: 1');
  }
  assert.equal((await job(w, byHand.job_id)).result_data?.["kept"], true);
  assert.equal(ran.length, 2, "no check runs after a failed one");
});

Deno.test("a check without a result fails the job with a reason of its own", async () => {
  const { programs } = scriptedPrograms({ test: 127 });
  await using w = world({ settings, programs });
  const api = await connectWorker(w, "api", at_home);
  const { job_id } = await create(w, { prompt: "Go", assigned_peer: "api", checks: ["tests"] });
  await api.beginTurn();
  await api.endTurn("Done");
  const { state_reason, error } = await waitForState(w, job_id, "failed");
  assert.equal(state_reason, "check_not_run");
  assert.match(error ?? "", /"tests" has no result\. It could not be run: it exited with 127/);
});

Deno.test("an executor that dies during the checks does not fail the job", async () => {
  const { programs, hold } = scriptedPrograms({ test: 0 });
  const release = hold();
  await using w = world({ settings, programs });
  const api = await connectWorker(w, "api", at_home);
  const { job_id } = await create(w, { prompt: "Go", assigned_peer: "api", checks: ["tests"] });
  await api.beginTurn();
  await api.endTurn("Done");
  await post(w, `/peers/${api.peer_id}/offline`, { terminal: true });
  release();
  await waitForState(w, job_id, "completed");
});

Deno.test("a job that is cancelled during its checks stays cancelled", async () => {
  const { programs, waitForProgram: begun, hold } = scriptedPrograms({ test: 0 });
  const release = hold();
  await using w = world({ settings, programs });
  const api = await connectWorker(w, "api", at_home);
  const { job_id } = await create(w, { prompt: "Go", assigned_peer: "api", checks: ["tests"] });
  await api.beginTurn();
  await api.endTurn("Done");
  await begun(w);
  await cancel(w, job_id);
  release();
  await w.clock.settle();
  assert.equal((await job(w, job_id)).state, "cancelled");
});

Deno.test("checks that a crash interrupted run again", async () => {
  const db_path = `${await Deno.makeTempDir({ dir: HOME })}/mesh.db`;
  const first = scriptedPrograms({ test: 0 }), release = first.hold();
  const w = world({ settings, programs: first.programs, db_path });
  const api = await connectWorker(w, "api", at_home);
  const { job_id } = await create(w, { prompt: "Go", assigned_peer: "api", checks: ["tests"] });
  await api.beginTurn();
  await api.endTurn("Done");
  // As after a crash: the check has no effect, and the database is unchanged.
  const copy = `${db_path}.crash`;
  w.daemon.ctx.db.checkpoint();
  await Deno.copyFile(db_path, copy);
  release();
  await w[Symbol.asyncDispose]();
  const second = scriptedPrograms({ test: 0 });
  await using next = world({ settings, programs: second.programs, db_path: copy, clock: w.clock });
  const { result_summary } = await waitForState(next, job_id, "completed");
  assert.deepEqual([result_summary, second.ran.length], ["Done", 1]);
});

Deno.test("checks are configured as argv lists, and a mistake is reported with its key", () => {
  const wrong = JSON.stringify({ tests: { argv: "deno test" } });
  assert.throws(() => world({ settings: { "jobs.checks": wrong } }), /jobs\.checks/);
  const unknown = JSON.stringify({ tests: { argv: ["deno"], shell: true } });
  assert.throws(() => world({ settings: { "jobs.checks": unknown } }), /jobs\.checks/);
});

const programs = programRunnerOf(systemClock, {
  PATH: Deno.env.get("PATH") ?? "",
  MESH_TOKEN: "hidden",
  MESH_DAEMON__AUTH_TOKEN: "hidden",
  MESH_RELAY__SECRET: "hidden",
  MESH_SPAWN__ENV: '{"API_KEY": "hidden"}',
  MESH_SPAWN__PROFILES: '{"big": {"env": {"API_KEY": "hidden"}}}',
  MESH_ROUTING__WEBHOOK: "https://router.example/?key=hidden",
});
const signal = new AbortController().signal;
const run = (argv: string[], cwd = "/", timeout_ms = 20_000) =>
  programs.run(argv, { cwd, timeout_ms, signal });

Deno.test("a program runs without a shell, in its real folder, without the daemon's secrets", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/real`);
  await Deno.symlink(`${folder}/real`, `${folder}/link`);
  const real = await Deno.realPath(`${folder}/real`);
  assert.deepEqual(await run(["pwd", "-P"], real), { exit: 0, output: `${real}\n` });
  assert.equal((await run(["true"], `${real}/../link`)).exit, null);
  assert.equal((await run(["echo", "$PATH; false"])).output, "$PATH; false\n");
  assert.ok(!(await run(["env"])).output.includes("hidden"));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a program that fails, is missing or has no folder is reported", async () => {
  assert.deepEqual(await run(["sh", "-c", "echo no >&2; exit 3"]), { exit: 3, output: "no\n" });
  const missing = await run(["no-such-program-here"]);
  assert.deepEqual([missing.exit, /could not be started/.test(missing.reason ?? "")], [null, true]);
  assert.equal((await run(["true"], "/no/such/folder")).exit, null);
});

Deno.test("a program that takes too long is ended, even if it ignores SIGTERM", async () => {
  const slow = await run(["sleep", "60"], "/", 50);
  assert.deepEqual([slow.exit, slow.reason === "It took longer than 0.05 seconds"], [null, true]);
  const deaf = await run(
    ["sh", "-c", "trap '' TERM; echo here; sleep 60 & wait; sleep 60"],
    "/",
    200,
  );
  assert.deepEqual([deaf.exit, /^here/.test(deaf.output)], [null, true]);
});

Deno.test("the end of long output is stored, and a child that holds the pipe open is not awaited", async () => {
  const { exit, output } = await run(["sh", "-c", "seq 1 100000; sleep 5 & exit 0"]);
  assert.equal(exit, 0);
  assert.ok(output.length <= 16_384 && output.endsWith("100000\n"));
});
