/** Builds the program and runs it from another directory, with nothing but what it imports. */

import { fileURLToPath } from "node:url";
import { VERSION } from "kit/contract.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** A part for each role and what roles share, so that none pays for another's. */
const PARTS = `${ROOT}dist/parts`;
const BUNDLE = `${PARTS}/main.js`;
const EXECUTABLE = `${ROOT}dist/mesh`;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

interface Ran {
  readonly success: boolean;
  readonly out: string;
  readonly err: string;
}

async function run(program: string, args: readonly string[], cwd: string): Promise<Ran> {
  const command = new Deno.Command(program, { args: [...args], cwd, env: { NO_COLOR: "1" } });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return { success, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Runs Deno on the sources; what it says is shown when it fails. */
async function mustRun(args: readonly string[]): Promise<void> {
  print(`$ deno ${args.join(" ").replaceAll(ROOT, "")}`);
  const { success, err } = await run(Deno.execPath(), args, ROOT);
  if (!success) throw new Error(`deno ${args[0]} failed:\n${err}`);
}

/** Whether a program answers as ours: `--version` and `--help`, in a folder without our files. */
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

Deno.mkdirSync(`${ROOT}dist`, { recursive: true });
await mustRun(["task", "parts"]);
const alone = ["run", "-A", "--no-config", "--no-lock", "--no-remote", "--no-npm", BUNDLE];
await prove("The bundle", Deno.execPath(), alone);

/** The runtime part of an executable; where none can be fetched, Deno itself stands in for it. */
const runtime = Deno.env.get("DENORT_BIN");
if (runtime) {
  const settings = ["-A", "--no-check", "--no-config", "--unstable-no-legacy-abort"];
  await mustRun(["compile", ...settings, "--output", EXECUTABLE, BUNDLE]);
  const { out } = await run(EXECUTABLE, ["--version"], "/");
  if (out.startsWith("deno ")) {
    print("The executable is built; Deno stands in for its runtime part");
  } else await prove("The executable", EXECUTABLE, []);
} else print("skipped: the executable: DENORT_BIN names no runtime part");
