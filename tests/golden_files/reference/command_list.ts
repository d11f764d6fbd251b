/** The commands of `mesh` in the order of its help, as the reference pages list them. */

import { COMMANDS } from "../../support/commands.ts";
import { EXIT } from "../../../cli/client/failures.ts";
import type { CommandSpec } from "../../../cli/command/command.ts";
import { HELP_GROUPS, helpPlaceOf } from "../../../cli/command/help.ts";

export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  [EXIT.done]: "Done.",
  [EXIT.refused]: "Refused, failed, or still open after --timeout.",
  [EXIT.usageError]: "Wrong usage, or a mistake in the configuration.",
  [EXIT.unreachable]: "No daemon answers.",
  [EXIT.interrupted]: "Ctrl-C.",
};

export interface ListedCommand extends CommandSpec {
  /** The command without its arguments: `peer show`. */
  readonly name: string;
  /** All names, such as `mesh inbox read` and `mesh inbox done`. */
  readonly names: readonly string[];
}

export interface ListedGroup {
  readonly title: string;
  readonly commands: readonly ListedCommand[];
}

/** `<file> ...` in a table of flags is `<file>`, which may be repeated. */
export const shownFlag = (flag: string) => flag.replace(/ \.\.\.$/, "");

export function listedGroups(): ListedGroup[] {
  const listed = COMMANDS.filter(({ hidden }) => !hidden).map(toListed);
  return HELP_GROUPS.map((group) => {
    const commands = listed.filter(({ name }) => placeOf(name).group === group)
      .sort((a, b) => placeOf(a.name).rank - placeOf(b.name).rank);
    return { title: group.title, commands };
  });
}

function placeOf(name: string) {
  return helpPlaceOf(name.split(" ")[0] ?? name);
}

function toListed(command: CommandSpec): ListedCommand {
  const name = command.usage.replace(/ ?[<[].*$/s, "");
  const path = name.split(" ").slice(0, -1);
  const last = [name.split(" ").at(-1) ?? "", ...command.aliases ?? []];
  return { ...command, name, names: last.map((word) => ["mesh", ...path, word].join(" ")) };
}
