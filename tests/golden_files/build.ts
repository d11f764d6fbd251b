/** Builds the program, and runs it in another directory with only what it imports. */

import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import { RealDaemon, temporary } from "../support/programs/child.ts";
import { runParts } from "../support/programs/program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** A part for each role and for shared code, so that no role loads another's code. */
const PARTS = `${ROOT}dist/parts`;
const BUNDLE = `${PARTS}/main.js`;
const EXECUTABLE = `${ROOT}dist/mesh`;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

interface ProgramResult {
  readonly success: boolean;
  readonly out: string;
  readonly err: string;
}

async function run(program: string, args: readonly string[], cwd: string): Promise<ProgramResult> {
  const command = new Deno.Command(program, { args: [...args], cwd, env: { NO_COLOR: "1" } });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return { success, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Runs Deno on the sources; its output is shown when it fails. */
async function mustRun(args: readonly string[]): Promise<void> {
  print(`$ deno ${args.join(" ").replaceAll(ROOT, "")}`);
  const { success, err } = await run(Deno.execPath(), args, ROOT);
  if (!success) throw new Error(`deno ${args[0]} failed:\n${err}`);
}

/** Checks the program's `--version` and `--help` in a folder without our files. */
async function prove(what: string, program: string, args: readonly string[]): Promise<void> {
  const elsewhere = Deno.makeTempDirSync();
  try {
    const version = await run(program, [...args, "--version"], elsewhere);
    const help = await run(program, [...args, "--help"], elsewhere);
    if (version.out.trim() !== VERSION || !help.out.startsWith("Usage: mesh")) {
      throw new Error(`${what} does not answer:\n${version.out}${version.err}${help.err}`);
    }
    print(`${what} answers --version and --help from another directory`);
  } finally {
    Deno.removeSync(elsewhere, { recursive: true });
  }
}

/** Only the parts: no configuration, and no package to fetch. */
const NO_DEPENDENCIES = ["--no-remote", "--no-npm"];
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "build", version: VERSION },
  },
};

/** Checks that the daemon has the modules that it loads lazily. */
async function proveDaemon(): Promise<void> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path, { flags: NO_DEPENDENCIES });
  const headers = { "content-type": "application/json" };
  const greeting = { method: "POST", headers, body: JSON.stringify(INITIALIZE) };
  for (
    const [path, init] of [["/metrics", {}], ["/openapi.json", {}], ["/mcp", greeting]] as const
  ) {
    const response = await fetch(`${daemon.base}${path}`, init);
    if (!response.ok) throw new Error(`${path} of the bundle: ${await response.text()}`);
    await response.body?.cancel();
  }
  print("The bundle's daemon answers with all of its lazy modules");
}

print("$ deno task parts");
await runParts();
const alone = ["run", "-A", "--no-config", "--no-lock", ...NO_DEPENDENCIES, BUNDLE];
await prove("The bundle", Deno.execPath(), alone);
await proveDaemon();

/** The runtime part of an executable; if none can be fetched, Deno itself replaces it. */
const runtime = Deno.env.get("DENORT_BIN");
if (runtime) {
  const settings = ["-A", "--no-check", "--no-config", "--unstable-no-legacy-abort"];
  await mustRun(["compile", ...settings, "--output", EXECUTABLE, BUNDLE]);
  const { out } = await run(EXECUTABLE, ["--version"], "/");
  if (out.startsWith("deno ")) {
    print("The executable is built; Deno replaces its runtime part");
  } else await prove("The executable", EXECUTABLE, []);
} else print("skipped: the executable: DENORT_BIN names no runtime part");
