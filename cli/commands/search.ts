/** The commands that look back: search, show, trace, why. */

import type { Clock } from "kit/core/clock.ts";
import { parseDuration } from "kit/core/duration.ts";
import type { Wire } from "kit/http/client.ts";
import { getAsk } from "../../daemon/features/asks/contract.ts";
import { getTrace, Kind } from "../../daemon/features/messages/contract.ts";
import { getMessage, listMessages } from "../../daemon/features/messages/log/contract.ts";
import { askerOf, waitForReply } from "./asking.ts";
import { type Command, type Session, verb, type Words } from "../command/command.ts";
import { EXIT, Misused } from "../client/failures.ts";
import { showItem } from "./inbox.ts";
import {
  complain,
  ink,
  print,
  printFields,
  printJson,
  printTable,
  printText,
  type Terminal,
} from "../output/print.ts";
import { showMany } from "./questions.ts";
import { clockTime, showAsk } from "../output/show.ts";
import { why } from "../output/why.ts";

type Message = Wire<typeof getMessage>;

const FOUND = 20;
/** What the daemon gives in one page. */
const PAGE_MAX = 500;

export const SEARCH_COMMANDS: readonly Command[] = [
  verb({
    words: "search [query...]",
    summary: "Find what was said, newest first; without words, the latest",
    flags: {
      "--peer <peer>": "that it took part in, by name or id",
      "--with <peer>": "the other side of it",
      "--kind <kind>": `one of ${Kind.options.join(", ")}`,
      "--since <time>": "not before: 2h, 3d, 2030-01-31, or a time with its offset",
      "--until <time>": "before this time",
      "--limit <count>": `at most so many (${FOUND})`,
    },
    example: `mesh search '"port 8080"' 'deplo*' --peer api --since 3d`,
    call: search,
    show: ({ messages, next }, { terminal, clock }) => {
      showMessages(terminal, messages, clock);
      if (next !== null) complain(terminal, ink("dim", "There is more: see --limit and --until."));
    },
  }),
  verb({
    words: "why <id>",
    summary: "Say in plain English what became of a message",
    example: "mesh why ask-3f9c04d1a2b7",
    call: async ({ call }, words) => {
      const id = words.text("id");
      const message = await call(getMessage, { params: { id } });
      const trace = await call(getTrace, { params: { trace_id: message.message_id } });
      return { message, trace };
    },
    show: ({ message, trace }, { terminal }) => {
      for (const { at, text, good } of why(message, trace)) {
        const time = at === null ? "" : clockTime(at);
        print(terminal, ink("dim", `${time.padEnd(12)}  `), good ? text : ink("yellow", text));
      }
    },
  }),
];

async function search({ call, clock }: Session, words: Words) {
  const kind = Kind.optional().safeParse(words.maybe("kind"));
  if (!kind.success) throw new Misused(`--kind: one of ${Kind.options.join(", ")}`);
  const most = words.number("limit") ?? FOUND;
  if (!Number.isInteger(most) || most < 1) throw new Misused("--limit: a whole number from 1");
  const query = {
    q: words.maybe("query"),
    peer: words.maybe("peer"),
    with: words.maybe("with"),
    kind: kind.data,
    since: instantOf("since", words, clock),
    until: instantOf("until", words, clock),
  };
  const messages: Message[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(PAGE_MAX, most - messages.length));
    const part = { limit, cursor: next ?? undefined };
    const page: Wire<typeof listMessages> = await call(listMessages, {
      query: { ...query, ...part },
    });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < most);
  return { messages, next };
}

/** `3d` ago; a day or an instant of this place; or an instant with its offset. */
function instantOf(flag: string, words: Words, clock: Clock): string | undefined {
  const text = words.maybe(flag);
  if (text === undefined) return undefined;
  const ago_ms = parseDuration(text);
  const local = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text.replace(" ", "T");
  const at = ago_ms === undefined
    ? Date.parse(/^\d{4}-/.test(local) ? local : "")
    : clock.now() - ago_ms;
  if (Number.isNaN(at) || Math.abs(at) > 8.64e15) {
    throw new Misused(`--${flag}: not a time: "${text}"; such as 2h, 3d or 2030-01-31`);
  }
  return new Date(Math.max(0, at)).toISOString();
}

/** `mesh show`: whatever has an id. */
export async function showAny(session: Session, words: Words): Promise<number> {
  const { call, terminal } = session;
  const id = words.text("id");
  if (id.startsWith("inb-")) return await showItem(session, words);
  if (id.startsWith("askm-")) return (await showMany(session, words, id), EXIT.done);
  if (/^(?:notif|qd)-/.test(id)) {
    const message = await call(getMessage, { params: { id } });
    if (words.flag("json")) printJson(terminal, message);
    else showMessage(terminal, message);
    return EXIT.done;
  }
  const ask = await call(getAsk, { params: { id } });
  if (words.flag("wait")) return await waitForReply(session, words, askerOf(ask));
  if (words.flag("json")) printJson(terminal, ask);
  else showAsk(terminal, ask);
  return EXIT.done;
}

function showMessages(to: Terminal, messages: readonly Message[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "WHEN", of: ({ created_at }) => ink("dim", dayTime(created_at, clock)), kept: true },
      {
        title: "WHO",
        of: ({ from_peer_name, to_peer_name }) => `${from_peer_name} → ${to_peer_name}`,
      },
      { title: "KIND", of: ({ kind, close_reason }) => close_reason ? `${kind}, closed` : kind },
      { title: "ID", of: ({ message_id }) => ink("cyan", message_id), kept: true },
      { title: "TEXT", of: ({ snippet, text }) => snippet ?? text },
    ],
    messages,
    "Nothing that was said fits.",
  );
}

function showMessage(to: Terminal, message: Message): void {
  const { message_id, correlation_id, state, reason } = message;
  printFields(to, {
    [message.kind]: ink("cyan", message_id),
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
  print(to, ink("bold", `${message.responder ?? message.to_peer_name}:`));
  printText(to, message.reply);
}

/** The time of today, the date and time of another day. */
function dayTime(instant: string, clock: Clock): string {
  const at = new Date(instant), now = new Date(clock.now());
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) return `${time}:${two(at.getSeconds())}`;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
