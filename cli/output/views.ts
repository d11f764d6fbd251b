/** Prints records: peers, asks, inbox items, traces and events. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { getAsk, waitAsk } from "../../daemon/features/asks/contract.ts";
import type { getTrace } from "../../daemon/features/messages/contract.ts";
import type { getInboxItem } from "../../daemon/features/inbox/contract.ts";
import type { describePeer } from "../../daemon/features/peers/contract.ts";
import type { Health } from "../../daemon/api/events/contract.ts";
import {
  print,
  printFields,
  printTable,
  printText,
  styled,
  type StyledText,
  type Terminal,
} from "./terminal.ts";
import type { StreamEvent } from "../client/event_stream.ts";

type Peer = WireResponse<typeof describePeer>;
type Ask = WireResponse<typeof getAsk>;
type Resolution = Extract<WireResponse<typeof waitAsk>, { status: "resolved" }>;
type InboxItem = WireResponse<typeof getInboxItem>;
type Trace = WireResponse<typeof getTrace>;

const DURATION_UNITS = [
  { ms: 86_400_000, unit: "d" },
  { ms: 3_600_000, unit: "h" },
  { ms: 60_000, unit: "min" },
  { ms: 1_000, unit: "s" },
] as const;

/** Formats a duration in the largest unit that fits, such as `3 min`. */
export function formatDuration(ms: number): string {
  const step = DURATION_UNITS.find((step) => ms >= step.ms);
  return step ? `${Math.floor(ms / step.ms)} ${step.unit}` : "now";
}

export function showHealth(to: Terminal, url: string, health: Health): void {
  printFields(to, {
    daemon: styled("green", "running"),
    url,
    version: health.version,
    pid: String(health.pid),
    "up for": formatDuration(health.uptime_seconds * 1000),
    peers: String(health.peers),
    relay: health.relay && formatRelay(health.relay),
  });
}

function formatRelay({ status, url, last_error }: Health["relay"]): string {
  return [status, url, last_error].filter(Boolean).join("  ");
}

export function showPeers(to: Terminal, peers: readonly Peer[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "NAME", cell: ({ name }) => styled("cyan", name), essential: true },
      { title: "CIRCLE", cell: ({ circle }) => circle },
      { title: "BACKEND", cell: ({ backend, role }) => backend ?? role },
      { title: "STATUS", cell: styledStatus },
      { title: "VIA", cell: ({ transport }) => transport },
      { title: "ASKS", cell: ({ pending_ask_count }) => String(pending_ask_count || "") },
      { title: "SEEN", cell: ({ last_seen }) => formatAge(last_seen, clock) },
      { title: "DOING", cell: ({ description, path }) => description ?? path ?? "" },
    ],
    peers,
    "No peers yet. Start an agent, or try: mesh demo",
  );
}

export function showAsks(to: Terminal, asks: readonly Ask[], clock: Clock): void {
  printTable(
    to,
    [
      {
        title: "ID",
        cell: ({ correlation_id }) => styled("cyan", correlation_id),
        essential: true,
      },
      { title: "FROM", cell: ({ from_peer_name }) => from_peer_name },
      { title: "TO", cell: ({ to_peer_name }) => to_peer_name },
      { title: "STATE", cell: ({ state, close_reason }) => close_reason ?? state },
      { title: "AGE", cell: ({ created_at }) => formatAge(created_at, clock) },
      { title: "TEXT", cell: ({ text }) => text },
    ],
    asks,
    "No matching asks.",
  );
}

export function showAsk(to: Terminal, ask: Ask): void {
  printFields(to, {
    ask: styled("cyan", ask.correlation_id),
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
    print(to, chosen ? "→ " : "  ", styled("bold", id), `  ${title}`);
  }
  if (ask.reply === null && ask.reply_attachments.length === 0) return;
  print(to);
  print(to, styled("bold", `${ask.responder ?? ask.to_peer_name}:`));
  if (ask.reply !== null) printText(to, ask.reply);
  showFiles(to, ask.reply_attachments);
}

function showFiles(to: Terminal, attachments: Ask["attachments"]): void {
  for (const { filename, size, content_type, path } of attachments) {
    const line = `${filename} (${content_type}, ${formatSize(size)}) ${path}`;
    print(to, styled("dim", "attached "), line);
  }
}

const SIZE_UNITS = [
  { bytes: 1_048_576, unit: "MB" },
  { bytes: 1024, unit: "kB" },
] as const;

function formatSize(size: number): string {
  const step = SIZE_UNITS.find(({ bytes }) => size >= bytes);
  return step ? `${(size / step.bytes).toFixed(1)} ${step.unit}` : `${size} bytes`;
}

export function showResolution(to: Terminal, answer: Resolution): void {
  const responder = answer.responder ?? "the daemon";
  const succeeded = answer.outcome === "answered" || answer.outcome === "acknowledged";
  const replyText = answer.reply ?? answer.option_id;
  print(
    to,
    styled(succeeded ? "green" : "yellow", answer.outcome),
    ` by ${responder}`,
    replyText ? ":" : "",
  );
  if (replyText) printText(to, replyText);
  else if (!succeeded) print(to, answer.close_reason);
  showFiles(to, answer.reply_attachments);
}

export function showInbox(to: Terminal, items: readonly InboxItem[], clock: Clock): void {
  printTable(
    to,
    [
      { title: "", cell: ({ read }) => read ? "" : styled("green", "●") },
      { title: "ID", cell: ({ item_id }) => styled("cyan", item_id), essential: true },
      { title: "KIND", cell: ({ kind, replied }) => replied ? `${kind}, replied` : kind },
      { title: "FROM", cell: ({ from }) => from },
      { title: "AGE", cell: ({ created_at }) => formatAge(created_at, clock) },
      { title: "TEXT", cell: ({ text }) => text },
    ],
    items,
    "Your inbox is empty.",
  );
}

export function showInboxItem(to: Terminal, item: InboxItem): void {
  printFields(to, {
    item: styled("cyan", item.item_id),
    kind: item.kind,
    from: item.from,
    ask: item.correlation_id,
    received: item.created_at,
    read: item.read_at && `${item.read_at} on ${item.read_by ?? "?"}`,
    replied: item.replied_at,
  });
  print(to);
  printText(to, item.text);
  showFiles(to, item.attachments);
  for (const { id, title } of item.question?.options ?? []) {
    print(to, "  ", styled("bold", id), `  ${title}`);
  }
}

export function showTrace(to: Terminal, { trace_id, kind, stages }: Trace): void {
  print(to, styled("bold", `${kind} `), styled("cyan", trace_id));
  printTable(
    to,
    [
      { title: "AT", cell: ({ ts }) => formatClockTime(ts), essential: true },
      {
        title: "STAGE",
        cell: ({ stage, status }) => styled(status === "ok" ? "green" : "red", stage),
        essential: true,
      },
      { title: "PEER", cell: ({ peer_id }) => peer_id ?? "" },
      { title: "DETAIL", cell: ({ detail }) => detail ?? "" },
    ],
    stages,
    "No stages are recorded.",
  );
}

/**
 * The event in the form of `GET /events`. Stream events such as `ready` are brought into the same
 * form.
 */
export function eventRecord({ type, data }: StreamEvent): Record<string, unknown> {
  return { type, ...(typeof data === "object" ? data : { data }) };
}

/** Prints an event in one line: time, id, type and data. */
export function showEvent(to: Terminal, { id, type, data }: StreamEvent): void {
  const entries = typeof data === "object" && data !== null ? Object.entries(data) : [];
  const at = entries.find(([name]) => name === "timestamp")?.[1];
  const rest = entries.filter(([name, value]) =>
    value !== null && !["id", "type", "timestamp"].includes(name)
  ).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const time = typeof at === "string" ? formatClockTime(at) : "";
  print(
    to,
    styled("dim", `${time.padEnd(12)} ${(id ?? "").padStart(6)} `),
    styled("cyan", type),
    " ",
    rest.join(" "),
  );
}

/** The local time of day with milliseconds. */
export function formatClockTime(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const padTwo = (value: number) => String(value).padStart(2, "0");
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  return `${padTwo(at.getHours())}:${padTwo(at.getMinutes())}:${padTwo(at.getSeconds())}.${ms}`;
}

/** A peer's turn state if the peer is online; otherwise its status. */
function styledStatus({ status, turn_state, addressable }: Peer): StyledText {
  const isPresent = status === "online" || status === "busy";
  const text = isPresent && turn_state ? turn_state.replaceAll("_", " ") : status;
  if (!addressable) return styled("dim", `${text} (not addressable)`);
  if (!isPresent) return styled("dim", text);
  return styled(status === "busy" || turn_state === "working" ? "yellow" : "green", text);
}

function formatAge(instant: string | null, clock: Clock): string {
  return instant === null ? "" : formatDuration(clock.now() - Date.parse(instant));
}
