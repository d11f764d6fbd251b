/** The command line of the program: of the sources, or of the parts that are shipped. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PARTS_FLAGS } from "../../../cli/client/program.ts";
import { writeLauncher } from "../../../packaging/pack.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const INSTALLED = `${ROOT}dist/installed`;
const TESTED = `${ROOT}dist/tested`;
const RUN = ["run", "-A", "--cached-only", "--quiet"];
/** The parts that the runner of all tests has built: they start in a third of the time. */
const TESTED_PARTS = Deno.env.get("TESTED_PARTS");

let main = TESTED_PARTS ? `${TESTED_PARTS}/main.js` : `${ROOT}main.ts`;
let settings: readonly string[] = TESTED_PARTS ? PARTS_FLAGS : [];

/** Builds the parts of the executable anew. */
export async function buildParts(): Promise<void> {
  await mustRun(["task", "parts"]);
  // An executable embeds its modules. Caching them here keeps the first read out of a measurement.
  await mustRun(["cache", ...PARTS_FLAGS, `${PARTS}/main.js`]);
}

/**
 * Builds the parts, and copies those that all tests start into a folder of their own: a build
 * beside the tests may empty `dist/parts`. Returns the folder.
 */
export async function buildTestedParts(): Promise<string> {
  await mustRun(["task", "parts"]);
  if (existsSync(TESTED)) Deno.removeSync(TESTED, { recursive: true });
  Deno.mkdirSync(TESTED, { recursive: true });
  for (const { name } of Deno.readDirSync(PARTS)) {
    if (name.endsWith(".js")) Deno.copyFileSync(`${PARTS}/${name}`, `${TESTED}/${name}`);
  }
  return TESTED;
}

/** Switches to the parts of the executable, after building them anew. */
export async function runParts(): Promise<void> {
  await buildParts();
  main = `${PARTS}/main.js`;
  settings = PARTS_FLAGS;
}

/** The command line of the program with these arguments. */
export function meshCommand(args: readonly string[]): string[] {
  return [Deno.execPath(), ...meshArguments(args)];
}

/** The command line of the sources, whatever form runs otherwise. */
export function sourcesCommand(args: readonly string[]): string[] {
  return [Deno.execPath(), ...RUN, `${ROOT}main.ts`, ...args];
}

/** The arguments by which Deno runs the program with these arguments, with options of Deno. */
export function meshArguments(args: readonly string[], flags: readonly string[] = []): string[] {
  return [...RUN, ...settings, ...flags, main, ...args];
}

/**
 * The launcher, beside the parts and Deno as npm installs them, and a module that does nothing.
 * The parts must have been built.
 */
export function installMesh(): { readonly mesh: string; readonly empty: string } {
  const packages = `${INSTALLED}/node_modules/@deno/here`;
  Deno.mkdirSync(packages, { recursive: true });
  link(Deno.execPath(), `${packages}/deno`);
  link(PARTS, `${INSTALLED}/parts`);
  writeLauncher(INSTALLED);
  Deno.writeTextFileSync(`${INSTALLED}/empty.js`, "");
  return { mesh: `${INSTALLED}/mesh`, empty: `${INSTALLED}/empty.js` };
}

function link(target: string, path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  Deno.symlinkSync(target, path);
}

/** True if a command line is one of our programs, in this role or in any. */
export function isOurs(command_line: string, role = ""): boolean {
  return command_line.includes(`${main} ${role}`);
}

async function mustRun(args: readonly string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`deno ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
