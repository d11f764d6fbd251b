/** Prints records: peers, asks, inbox items, traces and events. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { getAsk, waitAsk } from "protocol/asks/contract.ts";
import type { getTrace } from "protocol/messages/contract.ts";
import type { getMessage } from "protocol/messages/log.ts";
import type { getInboxItem } from "protocol/inbox.ts";
import type { describePeer } from "protocol/peers/contract.ts";
import type { Health } from "protocol/api/events.ts";
import { showHidden } from "kit/core/hidden.ts";
import { endedInTerminal, endingOfItem } from "protocol/derived/endings.ts";
import { isSubagent } from "protocol/derived/peers.ts";
import { isPermission } from "protocol/derived/waiting.ts";
import { proofSentence, resultSentence } from "protocol/derived/proofs.ts";
import { statusWithSleep } from "protocol/derived/wakes.ts";
import { waitState } from "protocol/derived/waits.ts";
import { formatCloseReason } from "./message_explanation.ts";
import { actLines } from "./act.ts";
import { originText } from "protocol/derived/origins.ts";
import { styled, type StyledText, type Terminal } from "./terminal.ts";
import {
  CLOCK_TIME_COLUMNS,
  formatAge,
  formatClockTime,
  formatDuration,
  formatHeard,
  formatInstant,
} from "./time.ts";
import type { StreamEvent } from "../client/event_stream.ts";

type Peer = WireResponse<typeof describePeer>;
type Ask = WireResponse<typeof getAsk>;
type Resolution = Extract<WireResponse<typeof waitAsk>, { status: "resolved" }>;
type InboxItem = WireResponse<typeof getInboxItem>;
type Trace = WireResponse<typeof getTrace>;
type Message = WireResponse<typeof getMessage>;

export function showHealth(to: Terminal, url: string, health: Health, clock: Clock): void {
  to.printFields({
    daemon: styled("green", "running"),
    url,
    version: health.version,
    pid: String(health.pid),
    "up for": formatDuration(health.uptime_seconds * 1000),
    peers: String(health.peers),
    storage: health.storage && formatStorage(health.storage),
    restored: health.restored && formatRestored(health.restored),
    relay: health.relay && formatRelay(health.relay, clock),
    bus: health.bus && formatBus(health.bus),
  });
}

function formatRestored({ at, lost_messages }: NonNullable<Health["restored"]>): string {
  const lost = lost_messages === null ? "the messages" : `${lost_messages} messages`;
  return `from a backup at ${formatInstant(at)}; ${lost} since that backup are gone`;
}

function formatStorage({ status, reason }: NonNullable<Health["storage"]>): StyledText {
  return reason === null ? status : styled("red", `${status}  ${reason}`);
}

function formatRelay(
  { status, url, last_error, last_heard_at }: Health["relay"],
  clock: Clock,
): string {
  const heard = last_heard_at && formatHeard(clock.now() - last_heard_at);
  return [status, url, heard, last_error].filter(Boolean).join("  ");
}

function formatBus({ status, reason, identity_in_use }: NonNullable<Health["bus"]>): StyledText {
  const text = [status, reason].filter(Boolean).join("  ");
  return identity_in_use ? styled("red", text) : text;
}

/** Prints peers. Their ids are shortened so that no other one of `all` begins with them. */
export function showPeers(
  to: Terminal,
  peers: readonly Peer[],
  { clock, all }: { readonly clock: Clock; readonly all: readonly Peer[] },
): void {
  const short = shortIds(all.map(({ peer_id }) => peer_id));
  to.printTable(peers, {
    ID: ({ peer_id }) => styled("dim", short.get(peer_id) ?? peer_id),
    NAME: (peer) => {
      const name = peer.transport === "bus" ? peer.display_name : peer.name;
      return styled("cyan", isSubagent(peer) ? `  ${name}` : name);
    },
    CIRCLE: ({ circle }) => circle,
    BACKEND: ({ backend, role }) => backend ?? role,
    STATUS: styledStatus,
    VIA: viaOf,
    ...(peers.some(({ pending_ask_count }) => pending_ask_count > 0) && {
      ASKS: ({ pending_ask_count }: Peer) => String(pending_ask_count || ""),
    }),
    SEEN: ({ last_seen }) => formatAge(last_seen, clock),
    ...(peers.some(({ tags }) => tags.length > 0) && {
      TAGS: ({ tags }: Peer) => tags.map((tag) => `@${tag}`).join(" "),
    }),
    DOING: ({ description, path }) => description ?? path ?? "",
  }, {
    whole: ["NAME", "ID"],
    expendable: ["SEEN", ...(peers.some(isHardToReach) ? [] : ["VIA"]), "BACKEND"],
    empty: "No peers yet. Start an agent, or try: mesh demo",
  });
}

export function showAsks(to: Terminal, asks: readonly Ask[], clock: Clock): void {
  to.printTable(asks, {
    ID: ({ correlation_id }) => styled("cyan", correlation_id),
    FROM: ({ from_peer_name }) => from_peer_name,
    TO: ({ to_peer_name }) => to_peer_name,
    STATE: ({ state, close_reason }) => close_reason ? formatCloseReason(close_reason) : state,
    AGE: ({ created_at }) => formatAge(created_at, clock),
    TEXT: ({ text }) => text,
  }, { whole: ["ID"], empty: "No matching asks." });
}

/** Facts on an ask beside its record. */
interface AskNotes {
  /** The sentence on what the recipient waits for. */
  readonly wait?: string | false | undefined;
  /** A line on each budget that it counts to. */
  readonly budgets?: readonly string[];
}

export function showAsk(to: Terminal, ask: Ask, { wait, budgets = [] }: AskNotes = {}): void {
  to.printFields({
    ask: styled("cyan", ask.correlation_id),
    from: ask.from_peer_name,
    to: ask.to_peer_name,
    origin: ask.chain && originText(ask.chain),
    state: formatAskState(ask),
    now: wait ? styled("yellow", wait) : null,
    budget: budgets.join("; ") || null,
    proof: ask.proof && styledProof(ask.proof),
    question: ask.question && [ask.question.kind, ask.question.scope].filter(Boolean).join(", "),
    answer: ask.answer?.option_id,
    "reply to": ask.reply_to,
    asked: formatInstant(ask.created_at),
    delivered: formatInstant(ask.delivered_at),
    seen: formatInstant(ask.seen_at),
    expires: ask.state === "open" ? formatInstant(ask.expires_at) : null,
    closed: formatInstant(ask.closed_at),
  });
  to.print();
  printWritten(to, ask.text, ask.question);
  showFiles(to, ask.attachments);
  const { prompt, options = [] } = ask.question ?? {};
  if (prompt && prompt !== ask.text) to.printText(prompt);
  showOptions(to, options, ask.answer?.option_id);
  if (ask.proof) showFindings(to, ask.proof);
  if (ask.reply === null && ask.reply_attachments.length === 0) return;
  to.print();
  to.print(styled("bold", `${ask.responder ?? ask.to_peer_name}:`));
  if (ask.reply !== null) to.printMessage(ask.reply);
  showFiles(to, ask.reply_attachments);
}

type Proof = NonNullable<Ask["proof"]>;

function styledProof(proof: Proof): StyledText {
  const isGood = proof.state === "verified" || proof.state === "awaiting";
  return styled(isGood ? "green" : "yellow", proofSentence(proof));
}

/** Prints what was found, with the output of checks that do not hold. */
function showFindings(to: Terminal, { results, undelivered }: Proof): void {
  if (results.length > 0) to.print();
  for (const result of results) {
    const isGood = result.outcome === "verified" && !result.changed;
    to.print(styled(isGood ? "green" : "yellow", resultSentence(result)));
    if (result.output !== "" && result.outcome !== "verified") to.printText(result.output);
  }
  if (undelivered === null) return;
  to.print();
  to.print(styled("bold", "An answer that was held as the ask ended:"));
  to.printMessage(undelivered);
}

/** Prints a message. The text that a person permits stays exactly as it is. */
function printWritten(to: Terminal, text: string, question: Ask["question"]): void {
  const act = actLines(text, question);
  if (act) act.forEach((line) => to.print(...line));
  else if (isPermission(question)) to.printText(showHidden(text));
  else to.printMessage(text);
}

/** `open`, or how the ask was closed; the outcome only where it says more. */
export function formatAskState(
  { state, close_reason, outcome }: Pick<Ask, "state" | "close_reason" | "outcome">,
): string {
  if (close_reason === null) return state;
  // After a decision in the agent's own terminal, the outcome says more than the close reason.
  const reason = endedInTerminal(outcome) ? undefined : formatCloseReason(close_reason);
  const parts = [reason, outcome?.replaceAll("_", " ")].filter(Boolean);
  return `${state}: ${[...new Set(parts)].join(", ")}`;
}

function showFiles(to: Terminal, attachments: Ask["attachments"]): void {
  for (const { filename, size, content_type, path } of attachments) {
    const line = `${filename} (${content_type}, ${formatSize(size)}) ${path}`;
    to.print(styled("dim", "attached "), line);
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
  to.print(
    styled(succeeded ? "green" : "yellow", answer.outcome),
    ` by ${responder}`,
    replyText ? ":" : "",
  );
  if (replyText) to.printText(replyText);
  else if (!succeeded) to.print(formatCloseReason(answer.close_reason));
  showFiles(to, answer.reply_attachments);
  if (!answer.proof) return;
  to.print(styledProof(answer.proof));
  showFindings(to, answer.proof);
}

export function showInbox(to: Terminal, items: readonly InboxItem[], clock: Clock): void {
  to.printTable(items, {
    "": ({ read }) => read ? "" : styled("green", "●"),
    ID: ({ item_id }) => styled("cyan", item_id),
    KIND: formatItemKind,
    FROM: ({ from }) => from,
    AGE: ({ created_at }) => formatAge(created_at, clock),
    TEXT: ({ text, question }) => question?.act?.title ?? text,
  }, { whole: ["ID"], empty: "Your inbox is empty." });
}

/** The kind of an item and how its ask ended, so that nobody answers an item that is over. */
function formatItemKind({ kind, replied, state, outcome }: InboxItem): string {
  if (replied) return `${kind}, replied`;
  return state === "closed" ? `${kind}, ${(outcome ?? "over").replaceAll("_", " ")}` : kind;
}

export function showInboxItem(to: Terminal, item: InboxItem): void {
  to.printFields({
    item: styled("cyan", item.item_id),
    kind: item.kind,
    from: item.from,
    ask: item.correlation_id,
    received: formatInstant(item.created_at),
    read: item.read_at && `${formatInstant(item.read_at)} on ${item.read_by ?? "?"}`,
    replied: formatInstant(item.replied_at),
    "put off until": formatInstant(item.snoozed_until ?? null),
    closed: item.closed_at && `${formatInstant(item.closed_at)}: ${endingOfItem(item)}`,
    expires: item.state === "open" ? formatInstant(item.expires_at) : null,
  });
  to.print();
  printWritten(to, item.text, item.question);
  showFiles(to, item.attachments);
  showOptions(to, item.question?.options ?? [], item.option_id);
}

type Options = NonNullable<NonNullable<Ask["question"]>["options"]>;

function showOptions(to: Terminal, options: Options, chosen_id: string | null | undefined): void {
  for (const option of options) {
    const mark = option.id === chosen_id ? "→ " : "  ";
    to.print(mark, styled("bold", option.id), titleBesideId(option));
  }
}

/** The title of an option, to print behind its id; empty if the id is the title. */
export function titleBesideId({ id, title }: Options[number]): string {
  return title === id ? "" : `  ${title}`;
}

/** Prints the stages of a message, with the names of its sender and its recipient. */
export function showTrace(to: Terminal, { trace_id, kind, stages }: Trace, message: Message): void {
  const { from_peer_id, from_peer_name, to_peer_id, to_peer_name } = message;
  const names = new Map([[from_peer_id, from_peer_name], [to_peer_id, to_peer_name]]);
  to.print(
    styled("bold", `${kind} `),
    styled("cyan", trace_id),
    `  ${from_peer_name} → ${to_peer_name}`,
  );
  to.printTable(stages, {
    AT: ({ ts }) => formatClockTime(ts),
    STAGE: ({ stage, status }) => styled(status === "ok" ? "green" : "red", stage),
    PEER: ({ peer_id }) => names.get(peer_id) ?? peer_id ?? "",
    DETAIL: ({ detail }) => detail ?? "",
  }, { essential: ["AT", "STAGE"], empty: "No stages are recorded." });
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
  to.print(
    styled("dim", `${time.padEnd(CLOCK_TIME_COLUMNS)} ${(id ?? "").padStart(6)} `),
    styled("cyan", type),
    " ",
    rest.join(" "),
  );
}

export const NO_WAY_IN = "no way in";

/** The way messages reach a peer, also while it is degraded; empty if none are to reach it now. */
export function transportOf(
  { role, status, addressable, transport }: Pick<
    Peer,
    "role" | "status" | "addressable" | "transport"
  >,
): StyledText {
  if (role === "human") return "inbox";
  if (status === "offline" || status === "retired" || !addressable) return "";
  return transport === "none" ? styled("yellow", NO_WAY_IN) : transport;
}

/** As `transportOf`, with the word `degraded`. */
export function viaOf(peer: Parameters<typeof transportOf>[0] & Pick<Peer, "inbound_status">) {
  const via = transportOf(peer);
  return peer.inbound_status === "degraded" ? styled("yellow", `${peer.transport}, degraded`) : via;
}

const isHardToReach = (peer: Peer) => typeof viaOf(peer) === "object";

/** A peer's turn state if the peer is online; otherwise its status. */
export function styledStatus(peer: Peer): StyledText {
  const { status, turn_state, addressable } = peer;
  const isPresent = status === "online" || status === "busy";
  const loop = peer.looping && "looping";
  const state = (loop ?? waitState(peer) ?? turn_state)?.replaceAll("_", " ");
  const text = isPresent && state ? state : statusWithSleep(peer);
  if (isSubagent(peer)) return styled("dim", `${text} (subagent)`);
  if (!addressable) return styled("dim", `${text} (not addressable)`);
  if (!isPresent) return styled("dim", text);
  const isYellow = status === "busy" || turn_state === "working" || peer.waits_for !== null;
  return styled(isYellow ? "yellow" : "green", text);
}

/** The digits of a shortened id, unless another one begins with them. */
const DIGITS_MIN = 4;

/** The shortest form of each id that no other id of the list begins with, in the same order. */
function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...new Set(ids)].sort();
  return new Map(sorted.map((id, at) => {
    const neighbours = [sorted[at - 1] ?? "", sorted[at + 1] ?? ""];
    const shared = Math.max(...neighbours.map((neighbour) => commonLength(id, neighbour)));
    return [id, id.slice(0, Math.max(id.lastIndexOf("-") + 1 + DIGITS_MIN, shared + 1))];
  }));
}

function commonLength(a: string, b: string): number {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return at === -1 ? a.length : at;
}
