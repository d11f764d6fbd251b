/** One row for each thing that waits, each peer and each message, at a given width. */

import { isPermission } from "protocol/derived/waiting.ts";
import { formatCloseReason } from "../../output/message_explanation.ts";
import { formatReason } from "protocol/derived/delivery_state.ts";
import { displayWidth } from "../../output/table.ts";
import { clean, styled, type StyledText, toPlainText } from "../../output/terminal.ts";
import { NO_WAY_IN, styledStatus, transportOf } from "../../output/views.ts";
import { fill, firstLine, type Line } from "../../screen/lines.ts";
import { markdownLine } from "../../output/markdown.ts";
import { waitOf, waitSentence } from "protocol/derived/waits.ts";
import { type Attention, waitingSince } from "../sections.ts";
import type { Message, Peer, Records } from "../records.ts";
import { formatDuration } from "../../output/time.ts";

/** The space and the ages for a row. */
export interface RowContext {
  readonly columns: number;
  readonly ages: Ages;
}

/** Minimum width at which a row has all its columns. */
const ROOMY_COLUMNS = 90;
/** Minimum width at which a row has its less important columns, too. */
const WIDE_COLUMNS = 110;
const NAME_COLUMNS_MAX = 20;
const AGE_COLUMNS = 4;

/** A cell of fixed width, and the gap after it. */
function cell(text: StyledText, columns: number): StyledText[] {
  return [...fill([text], columns), " "];
}

/** The widest of the names, within bounds. */
export function nameColumns(names: readonly string[], { columns }: RowContext): number {
  const widest = Math.max(6, ...names.map((name) => displayWidth(clean(name))));
  return Math.min(widest, columns < ROOMY_COLUMNS ? 14 : NAME_COLUMNS_MAX);
}

export function attentionRow(entry: Attention, width: number, context: RowContext): Line {
  const since = waitingSince(entry);
  const age = since === undefined ? "" : context.ages.since(since);
  const { label, text } = attentionTexts(entry);
  const name = entry.kind === "dialog" ? entry.peer.name : entry.item.from;
  return [
    ...cell(styled("yellow", age.padStart(AGE_COLUMNS)), AGE_COLUMNS),
    ...cell(label, 8),
    ...cell(styled("cyan", name), width),
    ...text,
  ];
}

function attentionTexts(entry: Attention): { label: StyledText; text: Line } {
  if (entry.kind === "dialog") {
    const label = waitOf(entry.peer)?.kind ?? "dialog";
    return { label: styled("yellow", label), text: [waitSentence(entry.peer) ?? ""] };
  }
  const { item } = entry;
  if (entry.kind === "note") {
    const isMissed = item.kind === "ask";
    return { label: isMissed ? "missed" : "note", text: markdownLine(firstLine(item.text)) };
  }
  const { question } = item;
  const options = question?.options?.length ?? 0;
  const choice = options === 0 || question?.act ? "" : `[${options} options] `;
  const prompt = firstLine(question?.act?.title ?? (question?.prompt || item.text));
  const text = isPermission(question) ? [prompt] : markdownLine(prompt);
  const { behind } = entry;
  const label = question?.blocking
    ? styled("red", "blocked")
    : behind.names.length > 0
    ? styled("red", `+${behind.names.length} wait`)
    : styled("yellow", "ask");
  return { label, text: [choice, ...text] };
}

/** The widths of the columns that depend on all rows. */
interface PeerWidths {
  readonly name: number;
  readonly waits: number;
}

export function peerRow(
  peer: Peer,
  waits: StyledText,
  { widths, hasCircle }: { readonly widths: PeerWidths; readonly hasCircle: boolean },
  { columns }: RowContext,
): Line {
  const isRoomy = columns >= ROOMY_COLUMNS;
  const doing = peer.description ?? peer.path ?? "";
  return [
    ...cell(styled(peer.status === "offline" ? "dim" : "cyan", peer.display_name), widths.name),
    ...cell(styledStatus(peer), 14),
    ...(columns >= WIDE_COLUMNS ? cell(styled("dim", peer.backend ?? peer.role), 11) : []),
    ...(isRoomy ? cell(styled("dim", toPlainText(transportOf(peer))), 9) : []),
    ...(widths.waits > 0 ? cell(waits, widths.waits) : []),
    ...(hasCircle ? [styled("dim", `${peer.circle}  `)] : []),
    ...troubleOf(peer),
    peer.description ? firstLine(doing) : styled("dim", firstLine(doing)),
  ];
}

/** The reason why messages reach a peer badly or not at all. */
function troubleOf(peer: Peer): Line {
  const { inbound_status, inbound_reason } = peer;
  if (inbound_status === "degraded") {
    const reason = inbound_reason === undefined ? "" : `: ${formatReason(inbound_reason)}`;
    return [styled("yellow", `degraded${reason}`), "  "];
  }
  return toPlainText(transportOf(peer)) === NO_WAY_IN ? [styled("yellow", NO_WAY_IN), "  "] : [];
}

/** The messages that wait for a peer, with their age: `2 asks 4m, 1 queued`. */
export function waitsFor(
  { peer_id, pending_ask_count: asks }: Peer,
  { open_asks, queued: counts }: Records,
  { ages }: RowContext,
): StyledText {
  const queued = counts.get(peer_id) ?? 0;
  const oldest = open_asks.filter((ask) => ask.to_peer_id === peer_id)
    .map(({ created_at }) => created_at).sort()[0];
  const age = oldest === undefined ? "" : ` ${ages.since(oldest)}`;
  const asked = asks > 0 ? [`${asks} ${asks === 1 ? "ask" : "asks"}${age}`] : [];
  const text = [...asked, ...(queued > 0 ? [`${queued} queued`] : [])].join(", ");
  return queued > 0 ? styled("yellow", text) : text;
}

/** The width of the widest text. */
export function widthOf(texts: readonly StyledText[]): number {
  return Math.max(0, ...texts.map((text) => displayWidth(toPlainText(text))));
}

const KINDS: Readonly<Record<Message["kind"], string>> = {
  ask: "asks",
  ack: "answers",
  notify: "tells",
  broadcast: "tells all",
  inbox_item: "tells",
};

export function messageRow(message: Message, width: number, context: RowContext): Line {
  const { from_peer_name: from, to_peer_name: to, created_at } = message;
  const isRoomy = context.columns >= ROOMY_COLUMNS;
  const written = markdownLine(firstLine(message.snippet ?? message.text));
  const ending = message.close_reason ? formatCloseReason(message.close_reason) : "";
  return [
    ...cell(styled("dim", context.ages.since(created_at).padStart(AGE_COLUMNS)), AGE_COLUMNS),
    ...cell(stateOf(message), 9),
    ...(isRoomy
      ? [
        ...cell(styled("cyan", from), width),
        ...cell(styled("dim", KINDS[message.kind]), 9),
        ...cell(styled("cyan", to), width),
      ]
      : [styled("cyan", clean(from)), " → ", styled("cyan", clean(to)), "  "]),
    ...(written.length > 0 ? written : [ending]),
  ];
}

/** The progress of a message, or the outcome of a closed ask. */
function stateOf({ kind, state, close_reason }: Message): StyledText {
  if (kind === "ask" && close_reason !== null) {
    const closed = formatCloseReason(close_reason);
    const isAnswer = closed === "answered" || closed === "acknowledged";
    return styled(isAnswer ? "green" : "yellow", isAnswer ? "answered" : closed);
  }
  if (state === "failed" || state === "expired" || state === "dropped") return styled("red", state);
  return state === "queued" ? styled("yellow", state) : state;
}

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000];

export class Ages {
  readonly now: number;
  /** Time after which the text of an age changes; undefined if the rows show no age. */
  valid_ms: number | undefined;

  constructor(now: number) {
    this.now = now;
  }

  /** The age of an instant in its largest unit, such as `3m`. */
  since(instant: string): string {
    const age_ms = Math.max(0, this.now - Date.parse(instant));
    const unit_ms = UNITS_MS.find((ms) => age_ms >= ms) ?? 1_000;
    const left_ms = unit_ms - age_ms % unit_ms;
    this.valid_ms = Math.min(this.valid_ms ?? Infinity, left_ms);
    return formatDuration(age_ms);
  }
}
