/** `mesh search`, `mesh show` and `mesh why`: finds and explains past messages. */

import type { Clock } from "kit/core/clock.ts";
import { parseDuration } from "kit/core/duration.ts";
import type { WireResponse } from "kit/http/client.ts";
import { getAsk } from "../../daemon/features/asks/contract.ts";
import { getTrace, Kind } from "../../daemon/features/messages/contract.ts";
import { getMessage, listMessages } from "../../daemon/features/messages/log/contract.ts";
import { toAskHandle, waitForReply } from "./reply_wait.ts";
import { apiCommand, type Args, type Command, type CommandContext } from "../command/command.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import { showItem } from "./inbox.ts";
import {
  print,
  printError,
  printFields,
  printJson,
  printTable,
  printText,
  styled,
  type Terminal,
} from "../output/terminal.ts";
import { showAskMany } from "./questions.ts";
import { formatClockTime, showAsk } from "../output/views.ts";
import { explainMessage } from "../output/message_explanation.ts";

type Message = WireResponse<typeof getMessage>;

const RESULTS_DEFAULT = 20;
/** The largest page that the daemon returns. */
const PAGE_MAX = 500;

export const SEARCH_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "search [query...]",
    summary: "Search messages, newest first; without a query, list the latest",
    flags: {
      "--peer <peer>": "only messages from or to this peer (name or id)",
      "--with <peer>": "with --peer: only messages with this other peer",
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
        printError(terminal, styled("dim", "There are more messages; see --limit and --until."));
      }
    },
  }),
  apiCommand({
    usage: "why <id>",
    summary: "Explain in plain English what happened to a message",
    example: "mesh why ask-3f9c04d1a2b7",
    call: async ({ call }, args) => {
      const id = args.text("id");
      const message = await call(getMessage, { params: { id } });
      const trace = await call(getTrace, { params: { trace_id: message.message_id } });
      return { message, trace };
    },
    show: ({ message, trace }, { terminal }) => {
      for (const { at, text, succeeded } of explainMessage(message, trace)) {
        const time = at === null ? "" : formatClockTime(at);
        print(
          terminal,
          styled("dim", `${time.padEnd(12)}  `),
          succeeded ? text : styled("yellow", text),
        );
      }
    },
  }),
];

async function search({ call, clock }: CommandContext, args: Args) {
  const max = args.number("limit") ?? RESULTS_DEFAULT;
  if (!Number.isInteger(max) || max < 1) {
    throw new UsageError(`--limit: "${max}" is not a whole number of 1 or more`);
  }
  const query = {
    q: args.get("query"),
    peer: args.get("peer"),
    with: args.get("with"),
    kind: args.choice("kind", Kind.options),
    since: parseInstant("since", args, clock),
    until: parseInstant("until", args, clock),
  };
  const messages: Message[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(PAGE_MAX, max - messages.length));
    const pageQuery = { limit, cursor: next ?? undefined };
    const page: WireResponse<typeof listMessages> = await call(listMessages, {
      query: { ...query, ...pageQuery },
    });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < max);
  return { messages, next };
}

/** Parses an age (`3d` means three days ago), a local day or time, or a time with an offset. */
function parseInstant(flag: string, args: Args, clock: Clock): string | undefined {
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
  if (id.startsWith("inb-")) return await showItem(context, args);
  if (id.startsWith("askm-")) return (await showAskMany(context, args, id), EXIT.done);
  if (/^(?:notif|qd)-/.test(id)) {
    const message = await call(getMessage, { params: { id } });
    if (args.flag("json")) printJson(terminal, message);
    else showMessage(terminal, message);
    return EXIT.done;
  }
  const ask = await call(getAsk, { params: { id } });
  if (args.flag("wait")) return await waitForReply(context, args, toAskHandle(ask));
  if (args.flag("json")) printJson(terminal, ask);
  else showAsk(terminal, ask);
  return EXIT.done;
}

function showMessages(to: Terminal, messages: readonly Message[], clock: Clock): void {
  printTable(
    to,
    [
      {
        title: "WHEN",
        cell: ({ created_at }) => styled("dim", formatDayTime(created_at, clock)),
        essential: true,
      },
      {
        title: "WHO",
        cell: ({ from_peer_name, to_peer_name }) => `${from_peer_name} → ${to_peer_name}`,
      },
      { title: "KIND", cell: ({ kind, close_reason }) => close_reason ? `${kind}, closed` : kind },
      { title: "ID", cell: ({ message_id }) => styled("cyan", message_id), essential: true },
      { title: "TEXT", cell: ({ snippet, text }) => snippet ?? text },
    ],
    messages,
    "No messages match.",
  );
}

function showMessage(to: Terminal, message: Message): void {
  const { message_id, correlation_id, state, reason } = message;
  printFields(to, {
    [message.kind]: styled("cyan", message_id),
    ask: correlation_id === message_id ? null : correlation_id,
    from: message.from_peer_name,
    to: message.to_peer_name,
    state: reason === null ? state : `${state}: ${reason}`,
    outcome: message.outcome,
    "reply to": message.reply_to,
    sent: message.created_at,
    closed: message.closed_at,
  });
  print(to);
  printText(to, message.text || `(${message.close_reason ?? "no text"})`);
  if (message.reply === null) return;
  print(to);
  print(to, styled("bold", `${message.responder ?? message.to_peer_name}:`));
  printText(to, message.reply);
}

/** The local time, with the date unless it is today. */
function formatDayTime(instant: string, clock: Clock): string {
  const at = new Date(instant), now = new Date(clock.now());
  const padTwo = (value: number) => String(value).padStart(2, "0");
  const time = `${padTwo(at.getHours())}:${padTwo(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) return `${time}:${padTwo(at.getSeconds())}`;
  return `${at.getFullYear()}-${padTwo(at.getMonth() + 1)}-${padTwo(at.getDate())} ${time}`;
}
