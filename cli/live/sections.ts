/** The rows of each section in their order, and which of them is selected. */

import { byNeed, needsPerson } from "protocol/derived/peers.ts";
import { waitOf } from "protocol/derived/waits.ts";
import type { Ask, Item, Message, Peer, Records } from "./records.ts";
import { type BlockedAgents, blockedBehind, byUrgency } from "protocol/derived/waiting.ts";

export const SECTIONS = ["attention", "peers", "feed"] as const;
export type Section = typeof SECTIONS[number];

/** The rows that can be selected. */
export interface Lists {
  readonly attention: readonly Attention[];
  /** The peers of all groups. */
  readonly peers: readonly Peer[];
  readonly groups: readonly PeerGroup[];
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

/** Peers under one heading: those that need the human, those of a circle, or the offline ones. */
export interface PeerGroup {
  readonly kind: "needs you" | "circle" | "offline";
  readonly title: string;
  readonly peers: readonly Peer[];
}

/** The choices of the view that decide about rows. */
export interface ListOptions {
  readonly sections: readonly Section[];
  /** True if the offline peers are listed, and not only counted. */
  readonly showsOffline: boolean;
  /** The ids of attention rows that the user has put off, in their order. */
  readonly later: readonly string[];
}

export function listsOf(records: Records, { sections, showsOffline, later }: ListOptions): Lists {
  const waiting = attentionOf(records)
    .filter(({ kind }) => kind !== "dialog" || sections.includes("peers"));
  const groups = groupsOf(records, showsOffline);
  return {
    attention: waiting.toSorted((a, b) => later.indexOf(a.id) - later.indexOf(b.id)),
    peers: groups.flatMap(({ peers }) => peers),
    groups,
    feed: (records.found ?? records.messages).rows,
  };
}

/** Peers that need the human come first, then the circles by name, and offline peers last. */
function groupsOf({ peers, inbox }: Records, showsOffline: boolean): PeerGroup[] {
  const askers = new Set(inbox?.asks.map(({ from_peer_id }) => from_peer_id));
  const kindOf = (peer: Peer): PeerGroup["kind"] => {
    if (peer.status === "offline") return "offline";
    return needsPerson(peer, askers) ? "needs you" : "circle";
  };
  const of = (kind: PeerGroup["kind"]) =>
    peers.filter((peer) => kindOf(peer) === kind).toSorted(byNeed);
  const needs = of("needs you"), offline = of("offline");
  const circles = [...Map.groupBy(of("circle"), ({ circle }) => circle)]
    .sort(([a], [b]) => a.localeCompare(b));
  const fold = showsOffline ? "f hides them" : "f shows them";
  const title = `${offline.length} offline, ${fold}`;
  return [
    ...(needs.length > 0 ? [{ kind: "needs you", title: "needs you", peers: needs } as const] : []),
    ...circles.map(([title, peers]) => ({ kind: "circle", title, peers } as const)),
    ...(offline.length > 0
      ? [{ kind: "offline", title, peers: showsOffline ? offline : [] } as const]
      : []),
  ];
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

/** A question: an open ask to the human, and the peers that wait behind it. */
interface OpenQuestion {
  readonly kind: "question";
  readonly id: string;
  readonly item: Item;
  /** Undefined if the human's inbox, and so the ask, is on another machine. */
  readonly ask: Ask | undefined;
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
  const isOpen = (item: Item) => item.kind === "ask" && item.state === "open";
  const questions = items.filter(isOpen).map((item): OpenQuestion => {
    const ask = askOf(item);
    const behind = ask ? blockedBehind(ask, open_asks) : { names: [], since: item.created_at };
    return { kind: "question", id: item.item_id, item, ask, behind };
  });
  const asking = new Set(questions.map(({ item }) => item.from_peer_id));
  const dialogs = peers.filter((peer) => waitOf(peer) && !asking.has(peer.peer_id));
  const notes = items.filter((item) => !item.read && !item.replied && !isOpen(item));
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
