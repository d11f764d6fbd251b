/** The commands of the human inbox. */

import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyInboxItem,
} from "../../daemon/features/inbox/contract.ts";
import { ATTACH_FLAG, attached } from "./attach.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  verb,
  type Words,
} from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { complain, ink, print, printJson } from "../output/print.ts";
import { showInbox, showInboxItem } from "../output/show.ts";
import { type StreamEvent, watchEvents } from "../client/event_stream.ts";

/** What the inbox calls us: a surface beside the dashboard and the chat. */
const SURFACE = "cli";

const list = verb({
  words: "inbox list",
  summary: "List what waits for you, newest first",
  flags: { "--unread": "only what you have not read", "--limit <count>": "at most so many" },
  example: "mesh inbox list --unread",
  call: ({ call }, words) => {
    const limit = words.number("limit");
    const query = {
      ...(words.flag("unread") && { unread: "true" } as const),
      ...(limit !== undefined && { limit: String(limit) }),
    };
    return call(listInbox, { query });
  },
  show: ({ items }, { terminal, clock }) => showInbox(terminal, items, clock),
});

export const INBOX_COMMANDS: readonly Command[] = [
  { ...list, words: "inbox", summary: "What waits for you", example: "mesh inbox" },
  list,
  {
    words: "inbox show <id>",
    summary: "Show one item",
    flags: JSON_FLAG,
    example: "mesh inbox show inb-3f9c04d1a2b7",
    run: showItem,
  },
  verb({
    words: "inbox read <id>",
    summary: "Mark an item read, on every surface",
    example: "mesh inbox read inb-3f9c04d1a2b7",
    call: ({ call }, words) =>
      call(readInboxItem, { params: { id: words.text("id") }, body: { surface: SURFACE } }),
    show: (_, { terminal }) => print(terminal, ink("green", "read")),
  }),
  verb({
    words: "inbox reply <id> [text]",
    summary: "Answer an item's ask, or ask its sender something",
    flags: { "--option <id>": "choose this option of a question", ...ATTACH_FLAG },
    example: 'mesh inbox reply inb-3f9c04d1a2b7 "Yes, go ahead"',
    call: async (session, words) => {
      const option_id = words.maybe("option");
      const text = await session.said(words.maybe("text") ?? "");
      const option = option_id !== undefined && { option_id };
      const body = { surface: SURFACE, text, ...option, ...await attached(session, words) };
      return await session.call(replyInboxItem, { params: { id: words.text("id") }, body });
    },
    show: ({ action, correlation_id }, { terminal }) =>
      print(terminal, ink("green", action), "  ", ink("dim", correlation_id ?? "")),
  }),
  {
    words: "inbox watch",
    summary: "Show each item as it comes; Ctrl-C ends it",
    flags: JSON_FLAG,
    example: "mesh inbox watch",
    run: watchInbox,
  },
];

export async function showItem({ call, terminal }: Session, words: Words): Promise<number> {
  const item = await call(getInboxItem, { params: { id: words.text("id") } });
  if (words.flag("json")) printJson(terminal, item);
  else showInboxItem(terminal, item);
  return EXIT.done;
}

async function watchInbox(session: Session, words: Words): Promise<number> {
  const { daemon, clock, terminal } = session;
  if (!words.flag("json")) complain(terminal, ink("dim", "Waiting for messages; Ctrl-C ends it."));
  await interruptible(async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal })) {
      const id = itemOf(event);
      if (id === undefined) continue;
      const item = await session.call(getInboxItem, { params: { id } });
      if (words.flag("json")) printJson(terminal, item, 0);
      else {
        showInboxItem(terminal, item);
        print(terminal, ink("dim", `Answer with: mesh inbox reply ${id} TEXT`));
        print(terminal);
      }
    }
  });
  return EXIT.done;
}

function itemOf({ type, data }: StreamEvent): string | undefined {
  if (type !== "inbox_item" || typeof data !== "object" || data === null) return undefined;
  return "item_id" in data && typeof data.item_id === "string" ? data.item_id : undefined;
}
