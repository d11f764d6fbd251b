/** Programs that we start end together with all processes that they started. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { isAlive, sessionLeaderOf } from "../../../daemon/host/processes.ts";
import {
  newMark,
  ProgramGroup,
  type RunOptions,
  runProgram,
} from "../../../daemon/host/program_group.ts";
import { StartedPrograms } from "../../../daemon/host/programs.ts";
import { until } from "../../support/waiting.ts";

const ENV = { PATH: Deno.env.get("PATH") ?? "" };
const LINUX = Deno.build.os === "linux";

/** Runs a script that prints the pids of its child processes; returns the pids and the result. */
async function run(script: string, more: Partial<RunOptions> = {}) {
  const options = { env: ENV, clock: systemClock, timeout_ms: 400, ...more };
  const result = await runProgram(["sh", "-c", script], options);
  return { result, pids: result.stdout.trim().split(/\s+/).filter(Boolean).map(Number) };
}

// deno-fmt-ignore
const ESCAPES: [what: string, script: string, isLinux: boolean][] = [
  ["a child in the background",           "sleep 300 & echo $! $$; wait",                                          false],
  ["a grandchild",                        "(sleep 300 & echo $!; sleep 300) & echo $! $$; wait",                   false],
  ["what ignores SIGTERM",                "trap '' TERM; sleep 300 & echo $! $$; while :; do sleep 300; done",     false],
  ["a job with a process group",          "set -m; sleep 300 & echo $! $$; wait",                                  true],
  ["a session of its own",                "setsid sh -c 'echo $$; exec sleep 300' & echo $$; wait",                true],
  ["a double fork that left the session", "(setsid sh -c 'echo $$; exec sleep 300' &) & echo $$; sleep 300",       true],
];
for (const [what, script, isLinux] of ESCAPES) {
  Deno.test(
    { name: `a program whose time is over ends with ${what}`, ignore: isLinux && !LINUX },
    async () => {
      const { result, pids } = await run(script);
      assert.ok(pids.length >= 2, script);
      assert.deepEqual([result.code, result.timed_out], [null, true]);
      assert.deepEqual(pids.filter((pid) => isAlive(pid)), []);
    },
  );
}

Deno.test("an abort ends a program with all that it has started", async () => {
  const aborting = new AbortController();
  const path = await Deno.makeTempFile();
  const script = `sleep 300 & echo $! $$ | tee ${path}; wait`;
  const running = run(script, { timeout_ms: 60_000, signal: aborting.signal });
  await until("the program to run", () => Deno.readTextFileSync(path) !== "");
  aborting.abort();
  const { pids } = await running;
  assert.equal(pids.length, 2);
  assert.deepEqual(pids.filter((pid) => isAlive(pid)), []);
  await Deno.remove(path);
});

Deno.test("processes that a program leaves behind continue, and their open pipe delays nobody", async () => {
  const from = performance.now();
  const { result, pids: [pid = 0] } = await run("sleep 300 & echo $!; exit 3", {
    timeout_ms: 60_000,
  });
  assert.deepEqual([result.code, result.timed_out], [3, false]);
  assert.ok(performance.now() - from < 10_000);
  assert.ok(isAlive(pid));
  Deno.kill(pid);
});

Deno.test("a program gets its input, and its outputs are separate and limited to their ends", async () => {
  const { result } = await run("cat; echo oops >&2", { input: "hello", timeout_ms: 60_000 });
  assert.deepEqual([result.stdout, result.stderr, result.code], ["hello", "oops\n", 0]);
  const many = await run("seq 1 20000; echo end", { timeout_ms: 60_000 });
  assert.equal(many.result.stdout.length, 16_384);
  assert.ok(many.result.output.endsWith("end\n"));
  const closed = await run("exec 0<&-; echo early", { input: "x".repeat(1e6), timeout_ms: 60_000 });
  assert.equal(closed.result.stdout, "early\n");
  const signalled = await run("kill -9 $$", { timeout_ms: 60_000 });
  assert.deepEqual([signalled.result.code, signalled.result.timed_out], [null, false]);
  const missing = runProgram(["/no/such"], { env: ENV, clock: systemClock, timeout_ms: 1 });
  await assert.rejects(missing, Deno.errors.NotFound);
});

Deno.test("a group is in a session of its own, unless it stays in that of a terminal", async () => {
  for (const own_session of [true, false]) {
    const group = new ProgramGroup(["sh", "-c", "sleep 300 & wait; exit 1"], {
      env: ENV,
      own_session,
    });
    const { pid } = group.child;
    if (LINUX) assert.equal(sessionLeaderOf(pid) === pid, own_session);
    assert.deepEqual(await group.end(systemClock), []);
    assert.equal((await group.child.status).success, false);
  }
});

Deno.test({
  name: "the next daemon ends the processes of a killed daemon, and no others",
  ignore: !LINUX,
  async fn() {
    const folder = await Deno.makeTempDir();
    const started = new StartedPrograms(folder);
    const killed = new ProgramGroup(["sh", "-c", "setsid sleep 300 & sleep 300"], { env: ENV });
    const other = new ProgramGroup(["sleep", "300"], { env: ENV });
    started.add(killed.mark); // Its end is never recorded.
    started.add(newMark())[Symbol.dispose]();
    started.add(newMark()); // It has already ended.
    await Deno.writeTextFile(`${folder}/notes`, "");
    const lines: string[] = [];
    const log = jsonLog(systemClock, "info", (line) => lines.push(line));
    await new StartedPrograms(folder).endLeft(systemClock, log);
    await killed.child.status;
    assert.ok(isAlive(other.child.pid));
    await other.end(systemClock);
    await other.child.status;
    assert.deepEqual(lines, []);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["notes"]);
    await new StartedPrograms(`${folder}/none`).endLeft(systemClock, log);
    await Deno.remove(folder, { recursive: true });
  },
});
