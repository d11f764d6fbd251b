/** Runs `mesh setup` with the words of a command line. */

import { parseLine } from "../../../cli/command/line.ts";
import { runSetup as run } from "../../../cli/setup/setup_command.ts";
import { COMMANDS } from "../commands.ts";

type Rest = Parameters<typeof run> extends [unknown, ...infer R] ? R : never;

export async function runSetup(words: readonly string[], ...rest: Rest): Promise<number> {
  const line = parseLine(COMMANDS, ["setup", ...words]);
  if ("help" in line) throw new Error("The line asks for help");
  return await run(line.args, ...rest);
}
