/** The command table as the modules of the commands define it. `deno task gen` writes it down. */

import { MODULES, type TableEntry } from "../../cli/commands/modules.ts";

export const COMMANDS: readonly TableEntry[] = await readCommands();

async function readCommands(): Promise<TableEntry[]> {
  const entries: TableEntry[] = [];
  for (const module of namesOf(MODULES)) {
    for (const { run: _, ...spec } of await MODULES[module]()) entries.push({ module, ...spec });
  }
  return entries;
}

function namesOf<T extends object>(table: T): (keyof T)[] {
  return Object.keys(table) as (keyof T)[];
}
