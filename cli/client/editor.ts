/** Opens the user's editor: on a file, or for a text that is then read back. */

import { makeTemporaryFolder } from "kit/host/file_errors.ts";
import { join } from "kit/core/path.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { CommandError } from "./failures.ts";

/** Marks lines that are for the writer only. */
const COMMENT = "#";

/** Opens the file in `$VISUAL`, `$EDITOR` or `vi`, and waits until the editor has ended. */
export async function openEditor(env: Env, path: string): Promise<void> {
  const editor = env["VISUAL"] || env["EDITOR"] || "vi";
  // The variable may hold arguments, such as `code --wait`, so that a shell has to read it.
  const argv = ["sh", "-c", `exec ${editor} "$1"`, "mesh", path];
  const { success, code } = await runOnTerminal(argv, { env: { ...env } });
  if (success) return;
  throw new CommandError(`The editor "${editor}" ended with code ${code}; set EDITOR to another`);
}

/** Runs a program on this terminal until it ends. `onStart` gets its process id. */
export async function runOnTerminal(
  [program = "", ...args]: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv">,
  onStart?: (pid: number) => void,
): Promise<Deno.CommandStatus> {
  const stdio = { stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
  const child = new Deno.Command(program, { args, ...options, ...stdio }).spawn();
  onStart?.(child.pid);
  return await child.status;
}

/**
 * Lets the user write a text in the editor, which begins with `draft`. `about` is shown below it in
 * comment lines, which are not part of the text. Returns an empty text if the user writes nothing.
 */
export async function writeInEditor(env: Env, about: string, draft = ""): Promise<string> {
  const dir = makeTemporaryFolder("mesh-");
  try {
    const path = join(dir, "TEXT.md");
    const comments = about.split("\n").map((line) => `${COMMENT} ${line}`.trimEnd()).join("\n");
    Deno.writeTextFileSync(path, `${draft}\n${comments}\n`, { mode: 0o600 });
    await openEditor(env, path);
    const lines = Deno.readTextFileSync(path).split("\n");
    const start = lines.findLastIndex((line) => !line.startsWith(COMMENT) && line.trim() !== "");
    return start < 0 ? "" : lines.slice(0, start + 1).join("\n").trim();
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
}
