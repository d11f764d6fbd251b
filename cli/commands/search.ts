/** The commands that look back: search, show, trace, why. */

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
/** What the daemon gives in one page. */
const PAGE_MAX = 500;

export const SEARCH_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "search [query...]",
    summary: "Find what was said, newest first; without words, the latest",
    flags: {
      "--peer <peer>": "that it took part in, by name or id",
      "--with <peer>": "the other side of it",
      "--kind <kind>": `one of ${Kind.options.join(", ")}`,
      "--since <time>": "not before: 2h, 3d, 2030-01-31, or a time with its offset",
      "--until <time>": "before this time",
      "--limit <count>": `at most so many (${RESULTS_DEFAULT})`,
    },
    example: `mesh search '"port 8080"' 'deplo*' --peer api --since 3d`,
    call: search,
    show: ({ messages, next }, { terminal, clock }) => {
      showMessages(terminal, messages, clock);
      if (next !== null) {
        printError(terminal, styled("dim", "There is more: see --limit and --until."));
      }
    },
  }),
  apiCommand({
    usage: "why <id>",
    summary: "Say in plain English what became of a message",
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
  const kind = Kind.optional().safeParse(args.get("kind"));
  if (!kind.success) throw new UsageError(`--kind: one of ${Kind.options.join(", ")}`);
  const max = args.number("limit") ?? RESULTS_DEFAULT;
  if (!Number.isInteger(max) || max < 1) throw new UsageError("--limit: a whole number from 1");
  const query = {
    q: args.get("query"),
    peer: args.get("peer"),
    with: args.get("with"),
    kind: kind.data,
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

/** `3d` ago; a day or an instant of this place; or an instant with its offset. */
function parseInstant(flag: string, args: Args, clock: Clock): string | undefined {
  const text = args.get(flag);
  if (text === undefined) return undefined;
  const agoMs = parseDuration(text);
  const local = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text.replace(" ", "T");
  const at = agoMs === undefined
    ? Date.parse(/^\d{4}-/.test(local) ? local : "")
    : clock.now() - agoMs;
  if (Number.isNaN(at) || Math.abs(at) > 8.64e15) {
    throw new UsageError(`--${flag}: not a time: "${text}"; such as 2h, 3d or 2030-01-31`);
  }
  return new Date(Math.max(0, at)).toISOString();
}

/** `mesh show`: whatever has an id. */
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
    "Nothing that was said fits.",
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

/** The time of today, the date and time of another day. */
function formatDayTime(instant: string, clock: Clock): string {
  const at = new Date(instant), now = new Date(clock.now());
  const padTwo = (value: number) => String(value).padStart(2, "0");
  const time = `${padTwo(at.getHours())}:${padTwo(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) return `${time}:${padTwo(at.getSeconds())}`;
  return `${at.getFullYear()}-${padTwo(at.getMonth() + 1)}-${padTwo(at.getDate())} ${time}`;
}
