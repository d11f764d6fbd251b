/**
 * Runs every test: installs what they need, and prints what was skipped and why, with counts.
 * `--times` prints the slowest tests as well.
 */

import { fileURLToPath, pathToFileURL } from "node:url";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { type Batch, batchesOf, testFiles } from "./runner/batches.ts";
import { DEFAULT_PORT, DefaultPort } from "./runner/default_port.ts";
import { runInLanes } from "./runner/lanes.ts";
import { readTime, slowest, type TestTimes } from "./runner/times.ts";
import { writeImage } from "./support/migrated.ts";
import { buildTestedParts } from "./support/programs/program.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const encoder = new TextEncoder();
const print = (line: string) => void Deno.stdout.writeSync(encoder.encode(`${line}\n`));

interface Need {
  /** Names of the program; any of them suffices. */
  readonly programs: readonly string[];
  readonly apt: string;
}

/** The programs that the tests need, with their packages. */
const NEEDS: readonly Need[] = [
  { programs: ["tmux"], apt: "tmux" },
  { programs: ["ip"], apt: "iproute2" },
  { programs: ["strace"], apt: "strace" },
  { programs: ["bwrap"], apt: "bubblewrap" },
  { programs: ["chromium", "chromium-browser", "google-chrome"], apt: "chromium" },
  // Tests of pages take half of the time in it; without it they use the whole Chromium.
  {
    programs: ["chromium-headless-shell", "chromium-browser", "google-chrome"],
    apt: "chromium-headless-shell",
  },
  { programs: ["kitty"], apt: "kitty" },
  { programs: ["Xvfb"], apt: "xvfb" },
  { programs: ["zsh"], apt: "zsh" },
  { programs: ["fish"], apt: "fish" },
  { programs: ["nats-server"], apt: "nats-server" },
  { programs: ["openssl"], apt: "openssl" },
  { programs: ["faketime"], apt: "faketime" }, // It brings libfaketime.
  { programs: ["nginx"], apt: "nginx-light" },
  { programs: ["caddy"], apt: "caddy" },
];

/**
 * Types are checked by `deno check`, which reads the tests as well: one file that does not compile
 * does not hide what the others report. Batches are processes of their own, not `--parallel`: the
 * tests of linear time measure the CPU time of their process, which threads would share.
 */
const FLAGS = ["-A", "--no-check", "--permit-no-files"];

/** A lane for each core, the lane of the agents, and another: most tests wait for programs. */
const LANES = navigator.hardwareConcurrency + 2;

/** Tests of whole programs, browsers and agents. */
const E2E = "tests/e2e/";
/** Maximum failed batches of them that are run once more. */
const REPEATED_MAX = 3;

/** The number of tests that `--times` prints. */
const SLOWEST_TESTS = 40;

/** Maximum time of a batch: several times the longest. A test may wait forever. */
const BATCH_MS_MAX = 15 * 60_000;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

async function has(...programs: readonly string[]): Promise<boolean> {
  const probeCommand = programs.map((program) => `command -v ${program}`).join(" || ");
  const which = new Deno.Command("sh", { args: ["-c", probeCommand], stdout: "null" });
  return (await which.output()).success;
}

async function install({ programs, apt }: Need): Promise<void> {
  if (await has(...programs)) return;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !await has("apt-get")) {
    return print(`${apt} is missing; tests that need it are skipped. Install the package ${apt}`);
  }
  for (
    const args of [["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", apt]]
  ) {
    print(`$ apt-get ${args.join(" ")}`);
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    const command = new Deno.Command("apt-get", { args, env, stdout: "null", stderr: "inherit" });
    if (!(await command.output()).success) return print(`${apt} could not be installed`);
  }
}

/** The runner's own closing line, such as `ok | 5 passed (2 steps) | 0 failed | 1 ignored (3s)`. */
const CLOSING = /^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed(?:.*? \| (\d+) ignored)?/;
/** Line of a test that cannot run, or of the runner for an ignored test. */
const SKIPPED = /^skipped: (.+)$|^(.+) \.\.\. ignored/;

/** Line of a test that another task runs. */
const ELSEWHERE = /^only in deno task agents: .+$/;

/** The runner's line for a failed test at its end. */
const FAILURE = /^.+ => \.\/tests\/\S+:\d+:\d+$/;

interface Result {
  readonly files: readonly string[];
  readonly counts: Counts | undefined;
  readonly skipped: readonly string[];
  /** Lines of tests that are left to another task. */
  readonly elsewhere: readonly string[];
  readonly failures: readonly string[];
  /** Names of temporary files that the tests did not remove. */
  readonly leftovers: readonly string[];
  readonly times: TestTimes;
  readonly success: boolean;
}

/** Runs one batch; passes its output on, and reads skips, failures and counts from it. */
async function run(
  parts: string,
  { files }: Batch,
  show: (line: string) => void,
): Promise<Result> {
  const temporary = await Deno.makeTempDir({ prefix: "mesh-t" });
  const entries = await Deno.makeTempDir({ prefix: "mesh-batch" });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", ...FLAGS, writeEntry(entries, files)],
    cwd: ROOT,
    env: { NO_COLOR: "1", TMPDIR: temporary, TESTED_PARTS: parts },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const skipped: string[] = [];
  const elsewhere: string[] = [];
  const failures: string[] = [];
  const times: TestTimes = new Map();
  let counts: Counts | undefined;
  const read = (line: string) => {
    show(line);
    readTime(times, line);
    const skip = SKIPPED.exec(line);
    if (skip) skipped.push(skip[1] ?? skip[2] ?? "");
    if (ELSEWHERE.test(line)) elsewhere.push(line);
    if (FAILURE.test(line)) failures.push(line);
    const closing = CLOSING.exec(line)?.slice(1).map((digits) => Number(digits ?? 0));
    if (closing) {
      counts = { passed: closing[0] ?? 0, failed: closing[1] ?? 0, skipped: closing[2] ?? 0 };
    }
  };
  const printed = Promise.all([eachLine(child.stdout, read), eachLine(child.stderr, show)]);
  // Its own children may hold its output open after its end.
  if (await timeout(systemClock, BATCH_MS_MAX, printed) === undefined) {
    show(`Ended after ${BATCH_MS_MAX / 60_000} minutes: ${files.join(" ")}`);
    child.kill("SIGKILL");
  }
  const { success } = await child.status;
  const leftovers = [...Deno.readDirSync(temporary)].map(({ name }) => name);
  await Deno.remove(temporary, { recursive: true });
  await Deno.remove(entries, { recursive: true });
  return { files, counts, skipped, elsewhere, failures, leftovers, times, success };
}

/**
 * Writes a module that imports the test files. Deno loads all modules anew for each test file that
 * it is given, and only once for the files that one module imports.
 */
function writeEntry(folder: string, files: readonly string[]): string {
  const path = `${folder}/batch_test.ts`;
  const imports = files.map((file) => `import "${pathToFileURL(ROOT + file)}";\n`);
  Deno.writeTextFileSync(path, imports.join(""));
  return path;
}

function isGood({ success, counts, leftovers }: Result): boolean {
  return success && counts?.failed === 0 && leftovers.length === 0;
}

/**
 * Runs failed end-to-end tests once more, one batch at a time with nothing beside it: browsers and
 * agents depend on how busy the machine is. More failures than a few are not that.
 */
async function secondRun(
  results: readonly Result[],
  runAgain: (batch: Batch) => Promise<Result>,
): Promise<Result[]> {
  if (results.filter((result) => !isGood(result)).length > REPEATED_MAX) return [...results];
  const final: Result[] = [];
  for (const first of results) {
    const mayRepeat = first.files.every((file) => file.startsWith(E2E));
    if (isGood(first) || !mayRepeat) final.push(first);
    else {
      print(`\n== once more, alone: ${first.files.join(" ")}`);
      final.push(await runAgain({ files: first.files, exclusive: true }));
    }
  }
  return final;
}

async function eachLine(
  stream: ReadableStream<Uint8Array>,
  read: (line: string) => void,
): Promise<void> {
  for await (const line of linesOf(stream)) read(line);
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest) yield rest;
}

async function main(): Promise<number> {
  for (const need of NEEDS) await install(need);
  const read = (file: string) => Deno.readTextFileSync(`${ROOT}${file}`);
  const batches = batchesOf(testFiles(ROOT), read);
  using defaultPort = new DefaultPort();
  if (defaultPort.isTaken) print(`port ${DEFAULT_PORT} is taken; who calls it is not seen`);
  const began = performance.now();
  const parts = await buildTestedParts();
  writeImage(parts);
  const runBatch = (batch: Batch, show: (line: string) => void) => run(parts, batch, show);
  const first = await runInLanes(batches, { lanes: LANES, run: runBatch, print });
  const results = await secondRun(first, (batch) => runBatch(batch, print));
  print(`\n== ${Math.round((performance.now() - began) / 1000)} s in ${LANES} lanes`);
  if (Deno.args.includes("--times")) {
    for (const line of slowest(first.map(({ times }) => times), SLOWEST_TESTS)) print(line);
  }
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts } of results) {
    total.passed += counts?.passed ?? 0;
    total.failed += counts?.failed ?? 0;
    total.skipped += counts?.skipped ?? 0;
  }
  print("");
  for (const line of new Set(results.flatMap(({ elsewhere }) => elsewhere))) print(line);
  for (const what of new Set(results.flatMap(({ skipped }) => skipped))) print(`skipped: ${what}`);
  const failures = new Set(results.flatMap((result) => result.failures));
  const unsteady = new Set(first.flatMap((result) => result.failures)).difference(failures);
  for (const what of unsteady) print(`failed beside other tests, passed alone: ${what}`);
  for (const what of failures) print(`failed: ${what}`);
  for (const { files, counts, success, leftovers } of results) {
    if (leftovers.length) print(`failed: ${files.join(" ")} left behind: ${leftovers.join(" ")}`);
    if (!counts) print(`The runner stopped before it could count: ${files.join(" ")}`);
    else if (!success && counts.failed === 0) print(`The runner failed: ${files.join(" ")}`);
  }
  print(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  for (const caller of defaultPort.callers) {
    print(
      `failed: a test called the default port ${DEFAULT_PORT}; set MESH_DAEMON__PORT: ${caller}`,
    );
  }
  return results.every(isGood) && defaultPort.callers.length === 0 ? 0 : 1;
}

Deno.exit(await main());
