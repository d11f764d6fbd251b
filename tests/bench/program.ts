/** What is run, as words for Deno: the sources, or what is made of them to be shipped. */

import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
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
  await Deno.remove(PARTS, { recursive: true }).catch(ignoreMissing);
  const args = ["bundle", "--quiet", "--platform", "deno", "--code-splitting"];
  const bundle = new Deno.Command(Deno.execPath(), {
    ...{ args: [...args, "--outdir", PARTS, "main.ts"], cwd: ROOT },
  });
  const { success, stderr } = await bundle.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  main = `${PARTS}/main.js`;
  settings = COMPILED;
}

/** The words by which Deno runs it, with settings of Deno's own before what it is to do. */
export function running(role: string, flags: readonly string[] = []): string[] {
  return [...RUN, ...settings, ...flags, main, role];
}

/** Whether a process with this command line is one of ours, in this role or in any. */
export function isOurs(words: string, role = ""): boolean {
  return words.includes(`${main} ${role}`);
}

function ignoreMissing(fault: unknown): void {
  if (!(fault instanceof Deno.errors.NotFound)) throw fault;
}
