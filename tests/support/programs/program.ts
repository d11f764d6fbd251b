/** The program as arguments for Deno: the sources, or the compiled parts that are shipped. */

import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const RUN = ["run", "-A", "--cached-only"];
/** The options of the executable, among them lazy loading of modules. */
const COMPILED = [
  ...["--no-config", "--no-lock"],
  ...["--unstable-no-legacy-abort", "--unstable-lazy-dynamic-imports"],
];

let main = `${ROOT}main.ts`;
let settings: readonly string[] = [];

/** Switches to the parts of the executable, after building them anew. */
export async function runParts(): Promise<void> {
  await mustRun(["task", "parts"]);
  // An executable embeds its modules. Caching them here keeps the first read out of a measurement.
  await mustRun(["cache", ...COMPILED, `${PARTS}/main.js`]);
  main = `${PARTS}/main.js`;
  settings = COMPILED;
}

/** The arguments by which Deno runs the program, with Deno's own options first. */
export function running(role: string, flags: readonly string[] = []): string[] {
  return [...RUN, ...settings, ...flags, main, role];
}

/** Whether a command line is one of our programs, in this role or in any. */
export function isOurs(command_line: string, role = ""): boolean {
  return command_line.includes(`${main} ${role}`);
}

async function mustRun(args: readonly string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`deno ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
