/** The rows of each section in their order, and which of them is selected. */

import { byNeed } from "protocol/derived/peers.ts";
import type { Ask, Item, Message, Peer, Records } from "./records.ts";
import { waitOf } from "protocol/derived/waits.ts";
import { type BlockedAgents, blockedBehind, byUrgency } from "protocol/derived/waiting.ts";

export const SECTIONS = ["attention", "peers", "feed"] as const;
export type Section = typeof SECTIONS[number];

/** The rows that can be selected. */
export interface Lists {
  readonly attention: readonly Attention[];
  /** By circle; the circles by name. */
  readonly peers: readonly Peer[];
  /** Newest first. */
  readonly feed: readonly Message[];
}

/** A selection follows its record when other rows come or go. */
export interface Selection {
  readonly id: string | undefined;
  /** The index of the record before it disappeared. */
  readonly index: number;
}

export const FIRST: Selection = { id: undefined, index: 0 };

export function listsOf(records: Records): Lists {
  return {
    attention: attentionOf(records),
    peers: records.peers.toSorted(byCircle),
    feed: (records.found ?? records.messages).rows,
  };
}

export function idOf(row: Attention | Peer | Message): string {
  if ("message_id" in row) return row.message_id;
  return "peer_id" in row ? row.peer_id : row.id;
}

/** The index of the selected row; 0 for an empty list. */
export function indexOf(rows: Lists[Section], { id, index }: Selection): number {
  const found = id === undefined ? -1 : rows.findIndex((row) => idOf(row) === id);
  return found >= 0 ? found : Math.max(0, Math.min(id === undefined ? 0 : index, rows.length - 1));
}

/** Selects a row. The feed's first row is selected by position, so that it stays the newest. */
export function select(section: Section, rows: Lists[Section], index: number): Selection {
  const row = rows[index];
  const isPlace = row === undefined || (section === "feed" && index === 0);
  return isPlace ? FIRST : { id: idOf(row), index };
}

/** Sorts by circle. In a circle, peers that need somebody come first, and offline peers last. */
function byCircle(a: Peer, b: Peer): number {
  return a.circle.localeCompare(b.circle) || byNeed(a, b);
}

/** A question: an open ask to the human, and the peers that wait behind it. */
interface OpenQuestion {
  readonly kind: "question";
  readonly id: string;
  readonly item: Item;
  readonly ask: Ask;
  readonly behind: BlockedAgents;
}

export type Attention =
  | OpenQuestion
  /** An agent that waits for its user in its own terminal, or for the end of a limit. */
  | { readonly kind: "dialog"; readonly id: string; readonly peer: Peer }
  /** An unread notification, or a question that ended unanswered. */
  | { readonly kind: "note"; readonly id: string; readonly item: Item };

export function attentionOf(
  { inbox, open_asks, peers }: Pick<Records, "inbox" | "open_asks" | "peers">,
): readonly Attention[] {
  const asks = new Map(inbox?.asks.map((ask) => [ask.correlation_id, ask]));
  const askOf = (item: Item) =>
    item.kind === "ask" ? asks.get(item.correlation_id ?? "") : undefined;
  const items = inbox?.items ?? [];
  const questions = items.flatMap((item): OpenQuestion[] => {
    const ask = askOf(item);
    if (!ask) return [];
    const behind = blockedBehind(ask, open_asks);
    return [{ kind: "question", id: item.item_id, item, ask, behind }];
  });
  const asking = new Set(questions.map(({ ask }) => ask.from_peer_id));
  const dialogs = peers.filter((peer) => waitOf(peer) && !asking.has(peer.peer_id));
  const notes = items.filter((item) => !item.read && !item.replied && !askOf(item));
  return [
    ...questions.sort(byUrgency),
    ...dialogs.map((peer) => ({ kind: "dialog" as const, id: peer.peer_id, peer })),
    ...notes.map((item) => ({ kind: "note" as const, id: item.item_id, item })),
  ];
}

/** The time since when somebody has waited; undefined if it is not known. */
export function waitingSince(entry: Attention): string | undefined {
  if (entry.kind === "question") return entry.behind.since;
  return entry.kind === "note" ? entry.item.created_at : waitOf(entry.peer)?.since || undefined;
}
