/** The circles that a machine shares: the flags, and the question on a terminal. */

import { Name } from "kit/core/schema.ts";
import type { Args, CommandContext } from "../../command/command.ts";
import { listPeers } from "protocol/generated/endpoints.ts";
import { UsageError } from "../../client/failures.ts";
import { TERMINAL } from "../../setup/setup_output.ts";

/** Stands for every circle, also one that is made later. */
const ALL = "*";

export const SHARE_FLAGS = {
  "--share <circle> ...": "let the other machines see and ask the peers of this circle",
  "--share-all": "share the peers of every circle",
} as const;

/**
 * The circles to share; undefined if no flag and no answer names any, which keeps the setting.
 * Without a terminal, nothing is asked.
 */
export async function chooseShared(
  context: CommandContext,
  args: Args,
): Promise<readonly string[] | undefined> {
  const given = args.list("share").flatMap((text) => namesIn(text));
  if (args.flag("shareAll") && given.length > 0) {
    throw new UsageError("--share and --share-all: give one of them");
  }
  if (args.flag("shareAll")) return [ALL];
  if (given.length > 0) return given;
  if (!context.terminal.device.interactive || !TERMINAL.ask) return undefined;
  const circles = await circlesHere(context);
  const known = circles.length === 0 ? "" : ` Circles here: ${circles.join(", ")}.`;
  const question = `Which circles may the other machines see?${known}\n` +
    "Names with commas, * for all, empty for none:";
  return namesIn(TERMINAL.ask(question) ?? "");
}

async function circlesHere({ call }: CommandContext): Promise<string[]> {
  const { peers } = await call(listPeers, { query: {} });
  return [...new Set(peers.map(({ circle }) => circle))].sort();
}

function namesIn(text: string): string[] {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const wrong = names.find((name) => name !== ALL && !Name.safeParse(name).success);
  if (wrong !== undefined) throw new UsageError(`"${wrong}" is not the name of a circle`);
  return names;
}
