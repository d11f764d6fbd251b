/** What is run, as words for Deno: the sources, or what is made of them to be shipped. */

import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const RUN = ["run", "-A", "--cached-only"];
/** What the executable is compiled with, and what it does by itself: it loads what is wanted. */
const COMPILED = [
  ...["--no-config", "--no-lock"],
  ...["--unstable-no-legacy-abort", "--unstable-lazy-dynamic-imports"],
];

let main = `${ROOT}main.ts`;
let settings: readonly string[] = [];

/** Runs what the executable is made of from now on; the parts are made anew. */
export async function runParts(): Promise<void> {
  await mustRun(["task", "parts"]);
  // The executable has been read once and for all; what Deno reads the first time, it keeps.
  await mustRun(["cache", ...COMPILED, `${PARTS}/main.js`]);
  main = `${PARTS}/main.js`;
  settings = COMPILED;
}

/** The words by which Deno runs it, with settings of Deno's own before what it is to do. */
export function running(role: string, flags: readonly string[] = []): string[] {
  return [...RUN, ...settings, ...flags, main, role];
}

/** Whether a process with this command line is one of ours, in this role or in any. */
export function isOurs(command_line: string, role = ""): boolean {
  return command_line.includes(`${main} ${role}`);
}

async function mustRun(args: readonly string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`deno ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
