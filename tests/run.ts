/** Runs every test: brings what they need, says what was skipped and why, and counts at the end. */

import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const encoder = new TextEncoder();
const print = (line: string) => void Deno.stdout.writeSync(encoder.encode(`${line}\n`));

interface Need {
  /** Any of them will do. */
  readonly programs: readonly string[];
  readonly apt: string;
}

/** What the tests run against, and the package it comes from. */
const NEEDS: readonly Need[] = [
  { programs: ["tmux"], apt: "tmux" },
  { programs: ["bwrap"], apt: "bubblewrap" },
  { programs: ["chromium", "chromium-browser", "google-chrome"], apt: "chromium" },
];

/**
 * Types are checked by `deno check`, which reads the tests as well: one file that does not compile
 * does not hide what the others have to say. One file at a time: `--parallel` saves ten seconds on
 * two cores, and takes from the tests with a real tmux the quiet that they need.
 */
const FLAGS = ["-A", "--no-check", "--permit-no-files"];

/** First all that runs in this process; then what starts daemons and agents of its own. */
const ROUNDS = [
  { name: "rooms, kit and house rules", files: ["tests/"], ignore: "tests/e2e/" },
  { name: "end to end", files: ["tests/e2e/"] },
] as const;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

async function has(...programs: readonly string[]): Promise<boolean> {
  const look = programs.map((program) => `command -v ${program}`).join(" || ");
  const which = new Deno.Command("sh", { args: ["-c", look], stdout: "null" });
  return (await which.output()).success;
}

async function bring({ programs, apt }: Need): Promise<void> {
  if (await has(...programs)) return;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !await has("apt-get")) {
    return print(`${apt} is missing; its tests are skipped. Install the package ${apt}`);
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
/** What a test prints of itself when it cannot run, or how the runner reports it. */
const SKIPPED = /^skipped: (.+)$|^(.+) \.\.\. ignored/;

interface Round {
  readonly counts: Counts | undefined;
  readonly skipped: readonly string[];
  readonly success: boolean;
}

/** Runs one round; its output goes on as it comes, and is read for skips and counts. */
async function run(files: readonly string[], ignore: string | undefined): Promise<Round> {
  const args = [
    "test",
    ...FLAGS,
    ...(ignore ? [`--ignore=${ignore}`] : []),
    ...files,
  ];
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  });
  const child = command.spawn();
  const skipped: string[] = [];
  let counts: Counts | undefined;
  for await (const line of linesOf(child.stdout)) {
    print(line);
    const skip = SKIPPED.exec(line);
    if (skip) skipped.push(skip[1] ?? skip[2] ?? "");
    const closing = CLOSING.exec(line)?.slice(1).map((digits) => Number(digits ?? 0));
    if (closing) {
      counts = { passed: closing[0] ?? 0, failed: closing[1] ?? 0, skipped: closing[2] ?? 0 };
    }
  }
  return { counts, skipped, success: (await child.status).success };
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
  for (const need of NEEDS) await bring(need);
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const skipped: string[] = [];
  let success = true;
  for (const { name, files, ...rest } of ROUNDS) {
    print(`\n== ${name}`);
    const round = await run(files, "ignore" in rest ? rest.ignore : undefined);
    if (!round.counts) print(`The runner stopped before it could count: ${name}`);
    success &&= round.success && round.counts !== undefined;
    total.passed += round.counts?.passed ?? 0;
    total.failed += round.counts?.failed ?? 0;
    total.skipped += round.counts?.skipped ?? 0;
    skipped.push(...round.skipped);
  }
  print("");
  for (const what of new Set(skipped)) print(`skipped: ${what}`);
  print(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return success && total.failed === 0 ? 0 : 1;
}

Deno.exit(await main());
