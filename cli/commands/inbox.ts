/** `mesh inbox`: lists, shows, watches and answers the human's inbox items. */

import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyInboxItem,
} from "../../daemon/features/inbox/contract.ts";
import { ATTACH_FLAG, resolveAttachments } from "./attach.ts";
import {
  apiCommand,
  type Args,
  type Command,
  type CommandContext,
  interruptible,
  JSON_FLAG,
} from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { print, printError, printJson, styled } from "../output/terminal.ts";
import { showInbox, showInboxItem } from "../output/views.ts";
import { type StreamEvent, watchEvents } from "../client/event_stream.ts";

/** The CLI's name as a surface. The dashboard and chats have other names. */
const SURFACE = "cli";

const list = apiCommand({
  usage: "inbox list",
  summary: "List your inbox, newest first",
  flags: { "--unread": "only unread items", "--limit <count>": "show at most this many" },
  example: "mesh inbox list --unread",
  call: ({ call }, args) => {
    const limit = args.number("limit");
    const query = {
      ...(args.flag("unread") && { unread: "true" } as const),
      ...(limit !== undefined && { limit: String(limit) }),
    };
    return call(listInbox, { query });
  },
  show: ({ items }, { terminal, clock }) => showInbox(terminal, items, clock),
});

export const INBOX_COMMANDS: readonly Command[] = [
  { ...list, usage: "inbox", summary: "List your inbox, newest first", example: "mesh inbox" },
  list,
  {
    usage: "inbox show <id>",
    summary: "Show an inbox item",
    flags: JSON_FLAG,
    example: "mesh inbox show inb-3f9c04d1a2b7",
    run: showItem,
  },
  apiCommand({
    usage: "inbox read <id>",
    summary: "Mark an item as read, on every surface",
    example: "mesh inbox read inb-3f9c04d1a2b7",
    call: ({ call }, args) =>
      call(readInboxItem, { params: { id: args.text("id") }, body: { surface: SURFACE } }),
    show: (_, { terminal }) => print(terminal, styled("green", "read")),
  }),
  apiCommand({
    usage: "inbox reply <id> [text]",
    summary: "Answer an ask, or ask the sender of any other item a question",
    flags: { "--option <id>": "answer with this option of the question", ...ATTACH_FLAG },
    example: 'mesh inbox reply inb-3f9c04d1a2b7 "Yes, go ahead"',
    call: async (context, args) => {
      const option_id = args.get("option");
      const text = await context.readText(args.get("text") ?? "");
      const option = option_id !== undefined && { option_id };
      const body = {
        surface: SURFACE,
        text,
        ...option,
        ...await resolveAttachments(context, args),
      };
      return await context.call(replyInboxItem, { params: { id: args.text("id") }, body });
    },
    show: ({ action, correlation_id }, { terminal }) =>
      print(terminal, styled("green", action), "  ", styled("dim", correlation_id ?? "")),
  }),
  {
    usage: "inbox watch",
    summary: "Show new items as they arrive, until Ctrl-C",
    flags: JSON_FLAG,
    example: "mesh inbox watch",
    run: watchInbox,
  },
];

export async function showItem({ call, terminal }: CommandContext, args: Args): Promise<number> {
  const item = await call(getInboxItem, { params: { id: args.text("id") } });
  if (args.flag("json")) printJson(terminal, item);
  else showInboxItem(terminal, item);
  return EXIT.done;
}

async function watchInbox(context: CommandContext, args: Args): Promise<number> {
  const { daemon, clock, terminal } = context;
  if (!args.flag("json")) {
    printError(terminal, styled("dim", "Waiting for messages; stop with Ctrl-C."));
  }
  await interruptible(async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal })) {
      const id = itemIdOf(event);
      if (id === undefined) continue;
      const item = await context.call(getInboxItem, { params: { id } });
      if (args.flag("json")) printJson(terminal, item, 0);
      else {
        showInboxItem(terminal, item);
        print(terminal, styled("dim", `Answer with: mesh inbox reply ${id} TEXT`));
        print(terminal);
      }
    }
  });
  return EXIT.done;
}

function itemIdOf({ type, data }: StreamEvent): string | undefined {
  if (type !== "inbox_item" || typeof data !== "object" || data === null) return undefined;
  return "item_id" in data && typeof data.item_id === "string" ? data.item_id : undefined;
}
