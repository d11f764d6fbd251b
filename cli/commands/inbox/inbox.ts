/** The commands of `mesh inbox`: list, show, watch and answer the human's inbox items. */

import * as z from "zod";
import {
  getInboxItem,
  listInbox,
  replyInboxItem,
  snoozeInboxItem,
  unreadInboxItem,
} from "protocol/generated/endpoints.ts";
import { allWaits } from "../waiting/peer_waits.ts";
import { ATTACH_FLAG, resolveAttachments } from "../attachments.ts";
import { shellQuote } from "../../../daemon/features/agents/settings_files/shell_words.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../../command/command.ts";
import { quitHint, untilQuit } from "../../command/quit_key.ts";
import { writeInEditor } from "../../client/editor.ts";
import { CommandError, EXIT, UsageError } from "../../client/failures.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";
import { showInbox, showInboxItem } from "../../output/views.ts";
import {
  aboutItem,
  type InboxItem,
  isDecisionOver,
  markItemRead,
  overText,
  SURFACE,
} from "./items.ts";
import { type StreamEvent, watchEvents } from "../../client/event_stream.ts";

const list = answerCommand({
  usage: "inbox list",
  aliases: ["ls"],
  summary: "List your inbox, newest first",
  flags: {
    "--unread": "only unread items",
    "--here": "the inbox of this machine, even if yours is on another one",
    "--limit <count>": "show at most this many",
  },
  example: "mesh inbox list --unread",
  call: ({ call }, args) => {
    const unread = args.flag("unread") ? "true" : undefined;
    const here = args.flag("here") ? "true" : undefined;
    return call(listInbox, { query: { unread, here, limit: args.numberText("limit") } });
  },
  show: async ({ items }, { call, terminal, clock }) => {
    showInbox(terminal, items, clock);
    if (items.length > 0) terminal.printError(styled("dim", LIST_HINT));
    const waits = await allWaits(call);
    if (waits.length > 0) terminal.print();
    for (const wait of waits) terminal.print(styled("yellow", wait));
  },
});

/** The largest page that the daemon returns. */
const ITEMS_MAX = 500;
const SNOOZE_SECONDS = 3600;

const LIST_HINT = "Open one with: mesh inbox show ID. Answer with: mesh inbox reply ID TEXT";

/** The live view of what waits in a terminal, and the plain list otherwise. */
const inbox: Command = {
  ...list,
  usage: "inbox",
  aliases: [],
  summary: "Answer what waits for you, key by key; a plain list when piped",
  details:
    "In a terminal: arrows move, enter opens, a answers here, e answers in $EDITOR, s marks as " +
    "read, l leaves it for later, ? lists the keys, q quits. `mesh inbox list` is always the " +
    "plain list.",
  example: "mesh inbox",
  async run(context, args) {
    const { terminal, showInbox } = context;
    const { keys, screen } = terminal.device;
    const isPlain = args.flag("json") || args.flag("unread") || args.flag("here") ||
      args.get("limit") !== undefined;
    if (!keys || !screen || !showInbox || isPlain || await countOpen(context) === 0) {
      return await list.run(context, args);
    }
    await showInbox(context, { keys, screen });
    const left = await countOpen(context);
    terminal.print(left === 0 ? "Nothing waits for you." : `${left} wait for you.`);
    return EXIT.done;
  },
};

/** The number of items that wait for the human. */
async function countOpen({ call }: CommandContext): Promise<number> {
  return (await call(listInbox, { query: { open: "true" } })).items.length;
}

export const SHOW_ITEM = answerCommand({
  usage: "inbox show <id>",
  summary: "Show an inbox item",
  example: "mesh inbox show inb-3f9c04d1a2b7",
  call: ({ call }, args) => call(getInboxItem, { params: { id: args.text("id") } }),
  show: (item, { terminal }) => {
    showInboxItem(terminal, item);
    printAnswerHint(item, terminal);
  },
});

export const INBOX_COMMANDS: readonly Command[] = [
  inbox,
  list,
  SHOW_ITEM,
  answerCommand({
    usage: "inbox read [id...]",
    aliases: ["done"],
    summary: "Mark items as read, on every surface",
    flags: { "--all": "all unread notifications; asks stay" },
    example: "mesh inbox read --all",
    call: readItems,
    show: (_, { terminal }) => terminal.print(styled("green", "read")),
  }),
  answerCommand({
    usage: "inbox unread <id>",
    summary: "Mark an item as unread again, on every surface",
    example: "mesh inbox unread inb-3f9c04d1a2b7",
    call: ({ call }, args) =>
      call(unreadInboxItem, { params: { id: args.text("id") }, body: { surface: SURFACE } }),
    show: (_, { terminal }) => terminal.print(styled("green", "unread")),
  }),
  answerCommand({
    usage: "inbox snooze <id>",
    summary: "Put an item off for a while, on every surface",
    details: "The item stays unread and its ask stays open. The live view and the dashboard show " +
      "it again after that time. A question that keeps its agent from going on is always shown.",
    flags: {
      "--for <duration>": "such as 90s, 30m or 8h (default 1h)",
      "--off": "show it again now",
    },
    example: "mesh inbox snooze inb-3f9c04d1a2b7 --for 8h",
    call: snooze,
    show: ({ until }, { terminal }) =>
      terminal.print(
        styled("green", until === null ? "shown again" : `until ${formatInstant(until)}`),
      ),
  }),
  answerCommand({
    usage: "inbox reply <id> [text]",
    aliases: ["answer"],
    summary: "Answer an ask, or ask the sender of any other item a question",
    details: "Without a text, $EDITOR opens in a terminal. To acknowledge an ask without a text, " +
      "use `mesh ack`.",
    flags: {
      "--option <id>": "answer with this option of the question",
      "--again":
        "reply to an item that has a reply or is over; this asks its sender a new question",
      ...ATTACH_FLAG,
    },
    example: 'mesh inbox reply inb-3f9c04d1a2b7 "Yes, go ahead"',
    call: reply,
    show: ({ action, correlation_id }, { terminal }) =>
      terminal.print(styled("green", action), "  ", styled("dim", correlation_id ?? "")),
  }),
  {
    usage: "inbox watch",
    needs: "stream",
    summary: "Show new items as they arrive, until you press q or Ctrl-C",
    flags: JSON_FLAG,
    example: "mesh inbox watch",
    run: watchInbox,
  },
];

async function readItems({ call }: CommandContext, args: Args) {
  const given = args.list("id");
  if (args.flag("all") === given.length > 0) {
    throw new UsageError("Give the ids of items, or --all");
  }
  const { items } = args.flag("all")
    ? await call(listInbox, { query: { unread: "true", limit: String(ITEMS_MAX) } })
    : { items: [] };
  const ids = args.flag("all")
    ? items.filter(({ state }) => state !== "open").map(({ item_id }) => item_id)
    : given;
  for (const id of ids) await markItemRead(call, id);
  return { ok: true };
}

async function snooze({ call, clock }: CommandContext, args: Args) {
  if (args.flag("off") && args.get("for") !== undefined) {
    throw new UsageError("Give --for or --off, not both");
  }
  const seconds = args.seconds("for") ?? SNOOZE_SECONDS;
  const until = args.flag("off") ? null : new Date(clock.now() + seconds * 1000).toISOString();
  const params = { id: args.text("id") };
  await call(snoozeInboxItem, { params, body: { surface: SURFACE, until } });
  return { ok: true, until };
}

async function reply(
  context: CommandContext,
  args: Args,
): Promise<{ readonly action: string; readonly correlation_id: string | null }> {
  const params = { id: args.text("id") };
  const item = await context.call(getInboxItem, { params });
  const option_id = args.get("option"), text = args.get("text");
  // The daemon itself refuses an option for an item that is over, and says how it ended.
  const mayAsk = option_id !== undefined || args.flag("again") ||
    await confirmsNewAsk(context, item);
  if (!mayAsk) return { action: "nothing sent", correlation_id: item.correlation_id };
  const attached = await resolveAttachments(context, args);
  const needsText = text === undefined && option_id === undefined && !attached.attachments;
  const body = needsText
    ? { text: await writeReply(context, item) }
    : { text: await context.readText(text ?? ""), option_id, ...attached };
  const confirmed = item.state === "closed" && option_id === undefined ? { as_new_ask: true } : {};
  const whole = { surface: SURFACE, ...body, ...confirmed };
  return await context.call(replyInboxItem, { params, body: whole });
}

/**
 * True if a text to an item may be sent. If nobody waits for the decision any more, the text would
 * be a new question: in a terminal the person confirms that; elsewhere `--again` is required.
 */
async function confirmsNewAsk({ terminal }: CommandContext, item: InboxItem): Promise<boolean> {
  if (item.replied) {
    throw new CommandError(
      `${item.item_id} was answered at ${formatInstant(item.replied_at)}; a second reply would ` +
        `ask ${item.from} a new question. To do that, add --again`,
    );
  }
  if (!isDecisionOver(item)) return true;
  const { keys } = terminal.device;
  if (!keys) throw new CommandError(`${overText(item)} To do that, add --again`);
  terminal.printError(`${overText(item)} Do that? [y/N]`);
  const { signal } = new AbortController();
  for await (const key of keys(signal)) return /^y/i.test(key);
  return false;
}

/** A reply without a text would close the ask without an answer. */
async function writeReply({ terminal, env }: CommandContext, item: InboxItem): Promise<string> {
  const text = terminal.device.keys ? await writeInEditor(env, aboutItem(item)) : "";
  if (text !== "") return text;
  throw new UsageError(
    `No text is given, so nothing was sent. Answer with: mesh inbox reply ${item.item_id} TEXT`,
    `To close the ask without a text: mesh ack ${item.correlation_id ?? "ID"}`,
  );
}

/** The hint on how to answer an item that is still open. */
function printAnswerHint(item: InboxItem, terminal: Terminal): void {
  if (item.replied || isDecisionOver(item)) return;
  const [option] = item.question?.options ?? [];
  const what = option ? `--option ${shellQuote(option.id)}` : "TEXT";
  const verb = item.state === "open" ? "Answer" : "Ask back";
  terminal.printError(styled("dim", `${verb} with: mesh inbox reply ${item.item_id} ${what}`));
}

async function watchInbox(context: CommandContext, args: Args): Promise<number> {
  const { daemon, clock, terminal } = context;
  if (!args.flag("json")) {
    terminal.printError(styled("dim", `Waiting for messages; ${quitHint(terminal)}.`));
  }
  await untilQuit(context, async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal })) {
      const id = itemIdOf(event);
      if (id === undefined) continue;
      const item = await context.call(getInboxItem, { params: { id } });
      if (args.flag("json")) terminal.printJson(item, 0);
      else {
        showInboxItem(terminal, item);
        printAnswerHint(item, terminal);
        terminal.print();
      }
    }
  });
  return EXIT.done;
}

function itemIdOf({ type, data }: StreamEvent): string | undefined {
  if (type !== "inbox_item") return undefined;
  return z.object({ item_id: z.string() }).safeParse(data).data?.item_id;
}
