/** Programs that use more memory, processes or disk space than they may are ended. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { ProgramLimits } from "../../../daemon/host/program_limits.ts";
import { isAlive, writtenBytes } from "../../../daemon/host/processes.ts";
import { programRunnerOf } from "../../../daemon/host/programs.ts";

const MIB = 1_048_576;
const ENOUGH: ProgramLimits = { memory_bytes_max: 4_096 * MIB };
/** Keeps 300 MB of zeros as long as it runs. */
const TAKE_MEMORY = "head -c 300000000 /dev/zero | tail; sleep 60";

const programs = programRunnerOf(systemClock, { PATH: Deno.env.get("PATH") ?? "" });

/** Runs a script in a folder of its own; `pid` is the pid that it wrote to the file `pid`. */
async function run(script: string, limits: ProgramLimits) {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  const { signal } = new AbortController();
  const options = { cwd, timeout_ms: 30_000, signal, limits };
  try {
    const result = await programs.run(["sh", "-c", script], options);
    const pids = [...Deno.readDirSync(cwd)].filter(({ name }) => name === "pid")
      .map(({ name }) => Number(Deno.readTextFileSync(`${cwd}/${name}`)));
    return { ...result, pids };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

const onLinux = { ignore: Deno.build.os !== "linux" };

/** Files in memory are not written to a disk. */
async function temporaryFilesAreOnDisk(): Promise<boolean> {
  const before = writtenBytes(Deno.pid);
  const path = await Deno.makeTempFile();
  await Deno.writeFile(path, new Uint8Array(MIB));
  await Deno.remove(path);
  return before !== undefined && (writtenBytes(Deno.pid) ?? 0) - before >= MIB;
}

// deno-fmt-ignore
const EXCESSES: [what: string, script: string, limits: ProgramLimits, reason: RegExp][] = [
  ["memory", TAKE_MEMORY, { memory_bytes_max: 100 * MIB }, /^It used more than 100 MiB of memory$/],
  ["memory in a process that left the session and the environment",
    `setsid env -i sh -c 'echo $$ > pid; ${TAKE_MEMORY}'; sleep 60`,
    { memory_bytes_max: 100 * MIB }, /100 MiB of memory/],
  ["memory in a double fork", `(setsid sh -c 'echo $$ > pid; ${TAKE_MEMORY}' &); sleep 60`,
    { memory_bytes_max: 100 * MIB }, /100 MiB of memory/],
  ["processes", "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; echo $! > pid; wait",
    { ...ENOUGH, processes_max: 5 }, /^It started more than 5 processes$/],
  ["disk space", "mkdir -p a/b; head -c 80000000 /dev/zero > a/b/c; sleep 60",
    { ...ENOUGH, disk_bytes_max: 50 * MIB }, /^Its folder grew to more than 50 MiB$/],
  ["disk space in many files", "i=0; while [ $i -lt 3000 ]; do echo x > f$i; i=$((i+1)); done; sleep 60",
    { ...ENOUGH, disk_bytes_max: 8 * MIB }, /^Its folder grew/],
];
for (const [what, script, limits, reason] of EXCESSES) {
  Deno.test({ name: `a program that takes too much ${what} is ended`, ...onLinux }, async () => {
    const found = await run(script, limits);
    assert.deepEqual([found.exit, reason.test(found.reason ?? "")], [null, true], found.reason);
    assert.deepEqual(found.pids.filter((pid) => isAlive(pid)), []);
  });
}

const WRITES = "a program whose children write too much to disks is ended, although they delete it";
if (await temporaryFilesAreOnDisk()) {
  Deno.test(WRITES, async () => {
    const script = "while :; do head -c 20000000 /dev/zero > file; rm file; done";
    const { exit, reason } = await run(script, { ...ENOUGH, written_bytes_max: 50 * MIB });
    assert.deepEqual([exit, reason], [null, "It wrote more than 50 MiB to disks"]);
  });
} else {Deno.test(`${WRITES} (skipped: temporary files are in memory)`, { ignore: true }, () =>
    undefined);}

Deno.test("a program within its limits runs to its end", async () => {
  const script = "head -c 1000000 /dev/zero > file; ln -s / link; mkdir shut; chmod 0 shut; exit 3";
  const { exit, reason } = await run(script, { ...ENOUGH, disk_bytes_max: 50 * MIB });
  assert.deepEqual([exit, reason], [3, undefined]);
});

Deno.test({
  name: "a sandbox without the daemon's environment is ended at the time limit with its processes",
  ...onLinux,
}, async () => {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  const script = "echo $$ > pid; exec sleep 300";
  const argv = ["setsid", "--wait", "env", "-i", "/bin/sh", "-c", script];
  const { signal } = new AbortController();
  const { reason } = await programs.run(["sh", "-c", '"$@"; true', "sh", ...argv], {
    cwd,
    timeout_ms: 500,
    signal,
  });
  assert.equal(reason, "It took longer than 0.5 seconds");
  assert.equal(isAlive(Number(Deno.readTextFileSync(`${cwd}/pid`))), false);
  await Deno.remove(cwd, { recursive: true });
});
