/** `mesh search`, `mesh show` and `mesh why`: finds and explains past messages. */

import type * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { parseDuration } from "kit/core/duration.ts";
import type { Call, WireResponse } from "kit/http/client.ts";
import {
  getAsk,
  getInboxItem,
  getMessage,
  getTrace,
  listMessages,
  recall,
} from "protocol/generated/endpoints.ts";
import { Kind } from "protocol/messages/contract.ts";
import { toAskHandle, waitForReply } from "./waiting/reply_wait.ts";
import { answerCommand, type Args, type Command, type CommandContext } from "../command/command.ts";
import { CommandError, EXIT, UsageError } from "../client/failures.ts";
import { SHOW_ITEM } from "./inbox/inbox.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { showAskMany } from "./questions.ts";
import {
  CLOCK_TIME_COLUMNS,
  formatAgo,
  formatClockTime,
  formatDayTime,
  formatInstant,
} from "../output/time.ts";
import { wrap } from "../screen/lines.ts";
import { originText } from "protocol/derived/origins.ts";
import { budgetLine } from "protocol/derived/budgets.ts";
import { findBudgets } from "./sessions/budgets.ts";
import { holdOf } from "./waiting/peer_waits.ts";
import { showAsk } from "../output/views.ts";
import { explainMessage, quote } from "../output/message_explanation.ts";

type Message = WireResponse<typeof getMessage>;
type MessagePage = WireResponse<typeof listMessages>;
type MessageFilter = Omit<z.input<typeof listMessages.query>, "limit" | "cursor">;

const RESULTS_DEFAULT = 20;
/** Sentences are wrapped where they have at least so many columns. */
const SENTENCE_COLUMNS_MIN = 20;
/** The largest page that the daemon returns. */
const PAGE_MAX = 500;

export const WHY: Command = answerCommand({
  usage: "why <id>",
  summary: "Explain in plain English what happened to a message",
  example: "mesh why ask-3f9c04d1a2b7",
  call: async ({ call }, args) => {
    const id = await toMessageId(call, args.text("id"));
    const message = await call(getMessage, { params: { id } });
    const trace = await call(getTrace, { params: { trace_id: message.message_id } });
    const budgets = await findBudgets(call, { message: message.message_id });
    return { message, trace, wait: await waitOfRecipient(call, message), budgets };
  },
  show: ({ message, trace, wait, budgets }, { terminal }) => {
    const columns = (terminal.device.columns ?? Infinity) - CLOCK_TIME_COLUMNS - 2;
    const lines = budgets.map((budget) => ({
      at: null,
      text: `Budget: ${budgetLine(budget, message.message_id)}.`,
      succeeded: budget.state === "open",
    }));
    for (const { at, text, succeeded } of [...explainMessage(message, trace, wait), ...lines]) {
      const sentence = succeeded ? text : styled("yellow", text);
      const rows = columns < SENTENCE_COLUMNS_MIN ? [[sentence]] : wrap([sentence], columns);
      for (const [row, line] of rows.entries()) {
        const time = at === null || row > 0 ? "" : formatClockTime(at);
        terminal.print(styled("dim", `${time.padEnd(CLOCK_TIME_COLUMNS)}  `), ...line);
      }
    }
  },
});

/** The wait of a message's recipient, while that holds up the message or its answer. */
async function waitOfRecipient(
  call: Call,
  { kind, state, close_reason, to_peer_id }: Message,
): Promise<string | undefined> {
  const isOpen = kind === "ask" ? close_reason === null : state === "queued";
  return isOpen ? await holdOf(call, to_peer_id, null) : undefined;
}

export const SEARCH_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "search [query...]",
    summary: "Search messages, newest first; without a query, list the latest",
    flags: {
      "--peer <peer>": "only messages from or to this peer (name or id)",
      "--with <peer>": "with --peer: only messages with this other peer",
      "--from <peer>": "only messages from this peer",
      "--to <peer>": "only messages to this peer",
      "--kind <kind>": `one of ${Kind.options.join(", ")}`,
      "--since <time>": "since this time: 2h or 3d ago, 2030-01-31, or a time with its offset",
      "--until <time>": "before this time, in the same forms",
      "--limit <count>": `show at most this many (default ${RESULTS_DEFAULT})`,
    },
    example: `mesh search '"port 8080"' 'deplo*' --peer api --since 3d`,
    call: search,
    show: ({ messages, next }, { terminal, clock }) => {
      showMessages(terminal, messages, clock);
      if (next !== null) {
        terminal.printError(styled("dim", "There are more messages; see --limit and --until."));
      }
    },
  }),
  WHY,
  answerCommand({
    usage: "recall <question...>",
    summary: "Find answers to similar questions in this project, and whether their files changed",
    details:
      "An agent searches its own circle and project. A person searches the project of this folder " +
      "in the circle `default`, or in --circle. The setting asks.recall_off excludes circles.",
    flags: {
      "--circle <name>": "search this circle; only for a person",
      "--everywhere": "search all projects of the circle; only for a person",
    },
    example: 'mesh recall "Which port does the API listen on?"',
    hasSender: true,
    call: async (context, args) => {
      const { peer, identifiedBy } = await context.sender(args);
      const isHere = !args.flag("everywhere") && context.machine === undefined;
      const query = {
        q: args.text("question"),
        from_peer: identifiedBy === "anonymous" ? undefined : peer,
        circle: args.get("circle"),
        path: isHere ? Deno.cwd() : undefined,
      };
      return await context.call(recall, { query });
    },
    show: showRecalled,
  }),
];

function showRecalled(
  { circle, project, off, matches }: WireResponse<typeof recall>,
  { terminal }: CommandContext,
): void {
  if (off) return terminal.print(`Recall is off in the circle ${circle} (asks.recall_off).`);
  if (matches.length === 0) {
    const where = project === null ? "" : ` about ${project}`;
    return terminal.print(`No similar question${where} was answered in the circle ${circle}.`);
  }
  for (const found of matches) {
    const { correlation_id, from_peer_name, responder, to_peer_name, age_seconds } = found;
    const age = formatAgo(age_seconds * 1000);
    const head = `${from_peer_name} → ${responder ?? to_peer_name}, answered ${age}`;
    terminal.print(styled("bold", correlation_id), `  ${head}`);
    terminal.print(`  ${quote(found.question)}`);
    terminal.print("  ", styled("green", "→"), ` ${quote(found.answer)}`);
    for (const { path, state } of found.files) {
      if (state === "unchanged") continue;
      terminal.print("  ", styled("yellow", `${path}: ${state} since`));
    }
  }
}

/** The message of an inbox item, if the id is an item's. A notification has only a trace. */
async function toMessageId(call: Call, id: string): Promise<string> {
  if (!id.startsWith("inb-")) return id;
  const { correlation_id } = await call(getInboxItem, { params: { id } });
  if (correlation_id !== null) return correlation_id;
  throw new CommandError(
    `${id} is a notification in your inbox: it has arrived. To read it: mesh show ${id}`,
  );
}

async function search({ call, clock }: CommandContext, args: Args) {
  const max = args.number("limit") ?? RESULTS_DEFAULT;
  if (!Number.isInteger(max) || max < 1) {
    throw new UsageError(`--limit: "${max}" is not a whole number of 1 or more`);
  }
  const query = {
    q: args.get("query"),
    peer: args.get("peer"),
    with: args.get("with"),
    from: args.get("from"),
    to: args.get("to"),
    kind: args.choice("kind", Kind.options),
    since: parseInstant("since", args, clock),
    until: parseInstant("until", args, clock),
  };
  return await fetchMessages(call, query, max);
}

/** The newest messages that match, page by page; any page may hold fewer than its limit. */
export async function fetchMessages(
  call: Call,
  query: MessageFilter,
  max: number,
): Promise<MessagePage> {
  const messages: Message[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(PAGE_MAX, max - messages.length));
    const pageQuery = { ...query, limit, cursor: next ?? undefined };
    const page: MessagePage = await call(listMessages, { query: pageQuery });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < max);
  return { messages, next };
}

/** Parses an age (`3d` means three days ago), a local day or time, or a time with an offset. */
export function parseInstant(flag: string, args: Args, clock: Clock): string | undefined {
  const text = args.get(flag);
  if (text === undefined) return undefined;
  const agoMs = parseDuration(text);
  const local = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text.replace(" ", "T");
  const at = agoMs === undefined
    ? Date.parse(/^\d{4}-/.test(local) ? local : "")
    : clock.now() - agoMs;
  if (Number.isNaN(at) || Math.abs(at) > 8.64e15) {
    throw new UsageError(`--${flag}: "${text}" is not a time; use 2h, 3d or 2030-01-31`);
  }
  return new Date(Math.max(0, at)).toISOString();
}

/** `mesh show`: shows an ask, an inbox item or another message by its id. */
export async function showAny(context: CommandContext, args: Args): Promise<number> {
  const { call, terminal } = context;
  const id = args.text("id");
  if (id.startsWith("inb-")) return await SHOW_ITEM.run(context, args);
  if (id.startsWith("askm-")) return (await showAskMany(context, args, id), EXIT.done);
  if (/^(?:notif|qd)-/.test(id)) {
    const message = await call(getMessage, { params: { id } });
    if (args.flag("json")) terminal.printJson(message);
    else showMessage(terminal, message);
    return EXIT.done;
  }
  const ask = await call(getAsk, { params: { id } });
  if (args.flag("wait")) return await waitForReply(context, args, toAskHandle(ask));
  if (args.flag("json")) terminal.printJson(ask);
  else {
    const wait = ask.state === "open" && await holdOf(call, ask.to_peer_id, null);
    const budgets = await findBudgets(call, { message: id });
    showAsk(terminal, ask, { wait, budgets: budgets.map((budget) => budgetLine(budget, id)) });
  }
  return EXIT.done;
}

function showMessages(to: Terminal, messages: readonly Message[], clock: Clock): void {
  to.printTable(messages, {
    WHEN: ({ created_at }) => styled("dim", formatDayTime(created_at, clock)),
    WHO: ({ from_peer_name, to_peer_name }) => `${from_peer_name} → ${to_peer_name}`,
    KIND: ({ kind, close_reason }) => close_reason ? `${kind}, closed` : kind,
    ID: ({ message_id }) => styled("cyan", message_id),
    TEXT: ({ snippet, text }) => snippet ?? text,
  }, { essential: ["WHEN"], whole: ["ID"], empty: "No messages match." });
}

function showMessage(to: Terminal, message: Message): void {
  const { message_id, correlation_id, state, reason } = message;
  to.printFields({
    [message.kind]: styled("cyan", message_id),
    ask: correlation_id === message_id ? null : correlation_id,
    from: message.from_peer_name,
    to: message.to_peer_name,
    origin: message.chain && originText(message.chain),
    state: reason === null ? state : `${state}: ${reason}`,
    outcome: message.outcome,
    "reply to": message.reply_to,
    sent: formatInstant(message.created_at),
    closed: formatInstant(message.closed_at),
  });
  to.print();
  to.printMessage(message.text || `(${message.close_reason ?? "no text"})`);
  if (message.reply === null) return;
  to.print();
  to.print(styled("bold", `${message.responder ?? message.to_peer_name}:`));
  to.printMessage(message.reply);
}
