/** The orders in which the peers of a circle are listed. */

import { byNeed } from "protocol/derived/peers.ts";
import type { Peer } from "../../state/records.ts";

type Compare = (a: Peer, b: Peer) => number;

/** The orders that a person may choose, with their texts. */
export const ORDERS = {
  need: "Who needs somebody",
  name: "Name",
  seen: "Last seen",
  wait: "Longest wait",
} as const;
export type Order = keyof typeof ORDERS;

const COMPARISONS: Readonly<Record<Order, Compare>> = {
  need: byNeed,
  name: byName,
  seen: (a, b) => seenAt(b) - seenAt(a) || byName(a, b),
  wait: (a, b) => waitOf(b) - waitOf(a) || byNeed(a, b),
};

/** The order of this name in an address. */
export function toOrder(text: string | null): Order {
  return text !== null && Object.hasOwn(ORDERS, text) ? text as Order : "need";
}

export function sortPeers(peers: readonly Peer[], order: Order): Peer[] {
  return peers.toSorted(COMPARISONS[order]);
}

function byName(a: Peer, b: Peer): number {
  return a.name.localeCompare(b.name);
}

/** In milliseconds; 0 for a peer that was never seen. */
function seenAt({ last_seen }: Peer): number {
  return last_seen === null ? 0 : Date.parse(last_seen);
}

/** The age in seconds of the oldest open ask to the peer; negative without an open ask. */
function waitOf({ pending_ask_count, oldest_pending_age_seconds }: Peer): number {
  return pending_ask_count === 0 ? -1 : oldest_pending_age_seconds ?? 0;
}
