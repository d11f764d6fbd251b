/** Chains of blocked asks: an ask waits for the open asks of the peer that has to answer it. */

import type { Ask } from "../state/records.ts";

/** An open ask, and the open asks of its recipient. */
export interface Wait {
  readonly ask: Ask;
  readonly on: readonly Wait[];
  /** The recipient's asks that are shown elsewhere, because they also hold up others. */
  readonly elsewhere: number;
  /** True if the recipient waits, through others, for this ask itself. */
  readonly circular: boolean;
}

/** A peer that has to answer, and how many others wait for it, directly or through others. */
export interface Blocker {
  readonly peer_id: string;
  readonly name: string;
  readonly waiting: number;
  readonly since: string;
}

/**
 * Open asks as trees: the root is the oldest ask, and below an ask are the asks that its recipient
 * waits for. Each ask is in one place.
 */
export function waitsOf(asks: readonly Ask[]): Wait[] {
  const oldest_first = byAge(asks);
  const asked_by = Map.groupBy(oldest_first, ({ from_peer_id }) => from_peer_id);
  const asked = new Set(asks.map(({ to_peer_id }) => to_peer_id));
  const placed = new Set<Ask>();
  const place = (ask: Ask, above: readonly Ask[]): Wait => {
    placed.add(ask);
    const path = [...above, ask];
    const next = asked_by.get(ask.to_peer_id) ?? [];
    const circular = next.some((next_ask) => path.includes(next_ask));
    const elsewhere =
      next.filter((next_ask) => placed.has(next_ask) && !path.includes(next_ask)).length;
    const on: Wait[] = [];
    for (const next_ask of next) if (!placed.has(next_ask)) on.push(place(next_ask, path));
    return { ask, on, elsewhere, circular };
  };
  const is_root = ({ from_peer_id }: Ask) => from_peer_id === null || !asked.has(from_peer_id);
  const roots = oldest_first.filter(is_root).map((ask) => place(ask, []));
  // The remaining asks wait for each other.
  for (const ask of oldest_first) if (!placed.has(ask)) roots.push(place(ask, []));
  return roots.sort((a, b) => a.ask.created_at.localeCompare(b.ask.created_at));
}

/** The peers that others wait for; the peer with most waiting peers is first. */
export function blockersOf(asks: readonly Ask[]): Blocker[] {
  const asked_of = Map.groupBy(byAge(asks), ({ to_peer_id }) => to_peer_id);
  return [...asked_of].flatMap(([peer_id, [first]]) => {
    if (!first) return [];
    const waiting = new Set<string>();
    const visit = (peer: string) => {
      for (const { from_peer_id, from_peer_name } of asked_of.get(peer) ?? []) {
        const asker = from_peer_id ?? from_peer_name;
        if (asker === peer_id || waiting.has(asker)) continue;
        waiting.add(asker);
        visit(asker);
      }
    };
    visit(peer_id);
    return [{ peer_id, name: first.to_peer_name, waiting: waiting.size, since: first.created_at }];
  }).sort((a, b) => b.waiting - a.waiting || a.since.localeCompare(b.since));
}

function byAge(asks: readonly Ask[]): Ask[] {
  return asks.toSorted((a, b) => a.created_at.localeCompare(b.created_at));
}
