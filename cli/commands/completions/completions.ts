/** `mesh completions`: prints a shell's completion script, generated from the command table. */

import { type Command } from "../../command/command.ts";
import { UsageError } from "../../client/failures.ts";
import { bashScript, zshScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { modelOf } from "./model.ts";

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The completion script of a shell. */
export function completionsFor(shell: string, commands: readonly Command[]): string {
  const generate = new Map(Object.entries(SHELLS)).get(shell);
  if (generate) return generate(modelOf(commands));
  const allowed = Object.keys(SHELLS).join(", ");
  throw new UsageError(`There are no completions for "${shell}"; choose one of ${allowed}`);
}
