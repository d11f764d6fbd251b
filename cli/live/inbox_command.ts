/** `mesh inbox`: the live view of the items that wait for the human. */

import { listInbox } from "protocol/generated/endpoints.ts";
import { EXIT } from "../client/failures.ts";
import type { Command, CommandContext } from "../command/command.ts";
import { LIST_ITEMS } from "../commands/inbox/inbox.ts";
import { runLive } from "./live.ts";
import { INBOX_VIEW } from "./view.ts";

/** Interactive in a terminal, and the plain list otherwise. */
export const INBOX: Command = {
  ...LIST_ITEMS,
  usage: "inbox",
  aliases: [],
  summary: "Answer what waits for you, key by key; a plain list when piped",
  details:
    "In a terminal: arrows move, enter opens, a answers here, e answers in $EDITOR, s marks as " +
    "read, l leaves it for later, ? lists the keys, q quits. `mesh inbox list` is always the " +
    "plain list.",
  example: "mesh inbox",
  async run(context, args) {
    const { keys, screen } = context.terminal.device;
    const isPlain = args.flag("json") || args.flag("unread") || args.flag("here") ||
      args.get("limit") !== undefined;
    if (!keys || !screen || isPlain || await countOpen(context) === 0) {
      return await LIST_ITEMS.run(context, args);
    }
    await runLive(context, { keys, screen }, INBOX_VIEW);
    const left = await countOpen(context);
    context.terminal.print(left === 0 ? "Nothing waits for you." : `${left} wait for you.`);
    return EXIT.done;
  },
};

/** The number of items that wait for the human. */
async function countOpen({ call }: CommandContext): Promise<number> {
  return (await call(listInbox, { query: { open: "true" } })).items.length;
}
