/** The rows of each section in their order, and which of them is selected. */

import { byNeed } from "protocol/derived/peers.ts";
import { type Attention, attentionOf } from "./attention.ts";
import type { Message, Peer, Records } from "./records.ts";

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
