/** `mesh screen` and `mesh type`: shows a peer's pane, and types into it as a person. */

import type { WireResponse } from "kit/http/client.ts";
import type { Acceptable } from "protocol/panes.ts";
import { type Key, NamedKey, TYPED_KEYS_MAX } from "protocol/agents/contract.ts";
import { showPane, typeIntoPane } from "protocol/generated/endpoints.ts";
import { UsageError } from "../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../command/command.ts";
import { styled } from "../output/terminal.ts";

type Screen = WireResponse<typeof showPane>;

/** The conditions that hold keys back and that a person may overrule. */
const EVERYTHING: readonly Acceptable[] = [
  "draft_present",
  "dialog_open",
  "screen_unknown",
  "not_foreground",
  "shell_prompt",
];

export const SCREEN_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "screen <peer>",
    summary: "Print what a peer's pane shows now",
    details: "The pane has to be proved to be the peer's. Blank rows at the end are left out.",
    flags: { ...CIRCLE_FLAG, "--color": "keep the colours, also in a pipe" },
    example: "mesh screen api",
    call: async (context, args): Promise<Screen> =>
      context.call(showPane, await context.peerRequest(args)),
    show: ({ rows }, { terminal }, args) => {
      const end = rows.findLastIndex((row) => /\S/.test(row)) + 1;
      terminal.printScreen(rows.slice(0, end), args.flag("color"));
    },
  }),
  answerCommand({
    usage: "type <peer> [text]",
    summary: "Type into a peer's pane, as a person at its keyboard",
    details:
      "Only for a person, and only with panes.allow_typing. Nothing is typed over a draft, " +
      "into a dialog, a shell or another program than the agent, unless --force is given. The " +
      "text is pasted if it has several lines; the keys come after it.",
    flags: {
      ...CIRCLE_FLAG,
      "--enter": "press Enter at the end",
      "--key <name> ...": "press this key, such as Escape, Up or Ctrl-c; may be repeated",
      "--force": "type although a draft, a dialog, a shell or another program is there",
    },
    example: 'mesh type api "Yes, go on" --enter',
    call: async (context, args) => {
      const keys = await keysOf(context, args);
      const accept = args.flag("force") ? [...EVERYTHING] : [];
      return await context.call(typeIntoPane, {
        ...await context.peerRequest(args),
        body: { keys, accept },
      });
    },
    show: ({ pane_id, overruled }, { terminal }) => {
      terminal.print(styled("green", "typed"), ` into ${pane_id}`);
      if (overruled.length > 0) {
        terminal.printError(styled("yellow", `overruled: ${overruled.join(", ")}`));
      }
    },
  }),
];

/** The parts to type, in order: the text, the named keys, Enter. */
async function keysOf(context: CommandContext, args: Args): Promise<Key[]> {
  const text = await context.readText(args.get("text"));
  const keys: Key[] = text ? [text.includes("\n") ? { paste: text } : { text }] : [];
  keys.push(...args.list("key").map(toKey));
  if (args.flag("enter")) keys.push({ key: "Enter" });
  if (keys.length === 0) throw new UsageError("Nothing to type: give a text, --key or --enter");
  if (keys.length > TYPED_KEYS_MAX) {
    throw new UsageError(`At most ${TYPED_KEYS_MAX} keys at once, not ${keys.length}`);
  }
  return keys;
}

function toKey(name: string): Key {
  const named = NamedKey.safeParse(name);
  if (named.success) return { key: named.data };
  const letter = /^ctrl-([a-z])$/i.exec(name)?.[1];
  if (letter !== undefined) return { key: `Ctrl-${letter.toLowerCase()}` };
  const names = NamedKey.options.join(", ");
  throw new UsageError(`"${name}" is no key; allowed: ${names}, Ctrl-a to Ctrl-z`);
}
