/** How people see records: peers, asks, inbox items, traces, events. */

import type { Clock } from "kit/core/clock.ts";
import type { Wire } from "kit/http/client.ts";
import type { getAsk, waitAsk } from "../../daemon/features/asks/contract.ts";
import type { getTrace } from "../../daemon/features/messages/contract.ts";
import type { getInboxItem } from "../../daemon/features/inbox/contract.ts";
import type { describePeer } from "../../daemon/features/peers/contract.ts";
import type { Health } from "../../daemon/api/events/contract.ts";
import { listed } from "./attachments.ts";
import {
  ink,
  type Piece,
  print,
  printFields,
  printTable,
  printText,
  type Terminal,
} from "./print.ts";
import type { StreamEvent } from "../client/event_stream.ts";

type Peer = Wire<typeof describePeer>;
type Ask = Wire<typeof getAsk>;
type Resolution = Extract<Wire<typeof waitAsk>, { status: "resolved" }>;
type InboxItem = Wire<typeof getInboxItem>;
type Trace = Wire<typeof getTrace>;

const STEPS = [
  { ms: 86_400_000, unit: "d" },
  { ms: 3_600_000, unit: "h" },
  { ms: 60_000, unit: "min" },
  { ms: 1_000, unit: "s" },
] as const;

/** `3 min`: the largest unit that fits. */
export function spanOf(ms: number): string {
  const step = STEPS.find((step) => ms >= step.ms);
  return step ? `${Math.floor(ms / step.ms)} ${step.unit}` : "now";
}

export function showHealth(to: Terminal, url: string, health: Health): void {
  printFields(to, {
    daemon: ink("green", "up"),
    url,
    version: health.version,
    pid: String(health.pid),
    "up for": spanOf(health.uptime_seconds * 1000),
    peers: String(health.peers),
    relay: health.relay && relayOf(health.relay),
  });
}

/** Why it is away belongs beside that it is. */
function relayOf({ status, url, last_error }: Health["relay"]): string {
  return [status, url, last_error].filter(Boolean).join("  ");
}

export function showPeers(to: Terminal, peers: readonly Peer[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "NAME", of: ({ name }) => ink("cyan", name), kept: true },
      { title: "CIRCLE", of: ({ circle }) => circle },
      { title: "BACKEND", of: ({ backend, role }) => backend ?? role },
      { title: "STATUS", of: statusOf },
      { title: "VIA", of: ({ transport }) => transport },
      { title: "ASKS", of: ({ pending_ask_count }) => String(pending_ask_count || "") },
      { title: "SEEN", of: ({ last_seen }) => since(last_seen, clock) },
      { title: "DOING", of: ({ description, path }) => description ?? path ?? "" },
    ],
    peers,
    "No peers yet. Start an agent, or see how it looks with: mesh demo",
  );
}

export function showAsks(to: Terminal, asks: readonly Ask[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "ID", of: ({ correlation_id }) => ink("cyan", correlation_id), kept: true },
      { title: "FROM", of: ({ from_peer_name }) => from_peer_name },
      { title: "TO", of: ({ to_peer_name }) => to_peer_name },
      { title: "STATE", of: ({ state, close_reason }) => close_reason ?? state },
      { title: "AGE", of: ({ created_at }) => since(created_at, clock) },
      { title: "TEXT", of: ({ text }) => text },
    ],
    asks,
    "No such asks.",
  );
}

export function showAsk(to: Terminal, ask: Ask): void {
  printFields(to, {
    ask: ink("cyan", ask.correlation_id),
    from: ask.from_peer_name,
    to: ask.to_peer_name,
    state: ask.close_reason ? `${ask.state}: ${ask.close_reason}, ${ask.outcome}` : ask.state,
    question: ask.question && [ask.question.kind, ask.question.scope].filter(Boolean).join(", "),
    answer: ask.answer?.option_id,
    "reply to": ask.reply_to,
    asked: ask.created_at,
    delivered: ask.delivered_at,
    seen: ask.seen_at,
    closed: ask.closed_at,
  });
  print(to);
  printText(to, ask.text);
  showFiles(to, ask.attachments);
  const { prompt, options = [] } = ask.question ?? {};
  if (prompt && prompt !== ask.text) printText(to, prompt);
  for (const { id, title } of options) {
    const chosen = id === ask.answer?.option_id;
    print(to, chosen ? "→ " : "  ", ink("bold", id), `  ${title}`);
  }
  if (ask.reply === null && ask.reply_attachments.length === 0) return;
  print(to);
  print(to, ink("bold", `${ask.responder ?? ask.to_peer_name}:`));
  if (ask.reply !== null) printText(to, ask.reply);
  showFiles(to, ask.reply_attachments);
}

/** What is attached, a line each, under the text that it came with. */
function showFiles(to: Terminal, attachments: Ask["attachments"]): void {
  for (const line of listed(attachments)) print(to, ink("dim", "attached "), line);
}

export function showResolution(to: Terminal, answer: Resolution): void {
  const who = answer.responder ?? "the daemon";
  const good = answer.outcome === "answered" || answer.outcome === "acknowledged";
  const said = answer.reply ?? answer.option_id;
  print(to, ink(good ? "green" : "yellow", answer.outcome), ` by ${who}`, said ? ":" : "");
  if (said) printText(to, said);
  else if (!good) print(to, answer.close_reason);
  showFiles(to, answer.reply_attachments);
}

export function showInbox(to: Terminal, items: readonly InboxItem[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "", of: ({ read }) => read ? "" : ink("green", "●") },
      { title: "ID", of: ({ item_id }) => ink("cyan", item_id), kept: true },
      { title: "KIND", of: ({ kind, replied }) => replied ? `${kind}, replied` : kind },
      { title: "FROM", of: ({ from }) => from },
      { title: "AGE", of: ({ created_at }) => since(created_at, clock) },
      { title: "TEXT", of: ({ text }) => text },
    ],
    items,
    "Nothing waits for you.",
  );
}

export function showInboxItem(to: Terminal, item: InboxItem): void {
  printFields(to, {
    item: ink("cyan", item.item_id),
    kind: item.kind,
    from: item.from,
    ask: item.correlation_id,
    came: item.created_at,
    read: item.read_at && `${item.read_at} on ${item.read_by ?? "?"}`,
    replied: item.replied_at,
  });
  print(to);
  printText(to, item.text);
  showFiles(to, item.attachments);
  for (const { id, title } of item.question?.options ?? []) {
    print(to, "  ", ink("bold", id), `  ${title}`);
  }
}

export function showTrace(to: Terminal, { trace_id, kind, stages }: Trace): void {
  print(to, ink("bold", `${kind} `), ink("cyan", trace_id));
  printTable(
    to,
    [
      { title: "AT", of: ({ ts }) => clockTime(ts), kept: true },
      {
        title: "STAGE",
        of: ({ stage, status }) => ink(status === "ok" ? "green" : "red", stage),
        kept: true,
      },
      { title: "PEER", of: ({ peer_id }) => peer_id ?? "" },
      { title: "DETAIL", of: ({ detail }) => detail ?? "" },
    ],
    stages,
    "No stage is recorded.",
  );
}

/** One line an event: its number, its name, then what it carries. */
/** As `GET /events` has it; what is no event of the log, such as `ready`, in the same form. */
export function eventRecord({ type, data }: StreamEvent): Record<string, unknown> {
  return { type, ...(typeof data === "object" ? data : { data }) };
}

export function showEvent(to: Terminal, { id, type, data }: StreamEvent): void {
  const carried = typeof data === "object" && data !== null ? Object.entries(data) : [];
  const at = carried.find(([name]) => name === "timestamp")?.[1];
  const rest = carried.filter(([name, value]) =>
    value !== null && !["id", "type", "timestamp"].includes(name)
  ).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const time = typeof at === "string" ? clockTime(at) : "";
  print(
    to,
    ink("dim", `${time.padEnd(12)} ${(id ?? "").padStart(6)} `),
    ink("cyan", type),
    " ",
    rest.join(" "),
  );
}

/** The time of day here, with milliseconds: of an instant on the wire. */
export function clockTime(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const two = (value: number) => String(value).padStart(2, "0");
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}

/** A turn says more than a status, as long as the peer is here. */
function statusOf({ status, turn_state, addressable }: Peer): Piece {
  const here = status === "online" || status === "busy";
  const text = here && turn_state ? turn_state.replaceAll("_", " ") : status;
  if (!addressable) return ink("dim", `${text} (not addressable)`);
  if (!here) return ink("dim", text);
  return ink(status === "busy" || turn_state === "working" ? "yellow" : "green", text);
}

function since(instant: string | null, clock: Clock): string {
  return instant === null ? "" : spanOf(clock.now() - Date.parse(instant));
}
