/** A person's terminal in a lab: a session of its tmux server, in which the command line runs. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { meshCommand } from "../programs/program.ts";
import { until } from "../waiting.ts";
import type { Lab } from "./lab.ts";
import { inPane } from "./programs.ts";

/** Keeps the output in files, because the session ends with command. */
const SCRIPT = '"$@" > "$OUT" 2>&1; echo $? > "$OUT.code"';

/** Runs `mesh` as a person does; returns its exit code and its output. */
export async function runAtTerminal(
  lab: Lab,
  args: readonly string[],
  folder = "home",
): Promise<{ code: number; text: string }> {
  const out = Deno.makeTempFileSync({ dir: join(lab.dir, "tmp") });
  const env = { ...lab.env, OUT: out };
  const command = inPane(join(lab.dir, folder), env, [
    "sh",
    "-c",
    SCRIPT,
    "sh",
    ...meshCommand(args),
  ]);
  lab.cli("new-session", "-d", ...command);
  const code = await until(`mesh ${args[0]} to end`, () => {
    try {
      return Deno.readTextFileSync(`${out}.code`).trim();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  });
  return { code: Number(code), text: Deno.readTextFileSync(out) };
}

/** The JSON that a command prints; fails unless the command succeeds. */
export async function jsonAtTerminal(lab: Lab, args: readonly string[], folder?: string) {
  const { code, text } = await runAtTerminal(lab, [...args, "--json"], folder);
  assert.equal(code, 0, text);
  return JSON.parse(text);
}
