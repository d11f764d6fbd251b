/** The list of what waits for the human, the most urgent first. */

import { type BlockedAgents, blockedBehind, byUrgency } from "protocol/derived/waiting.ts";
import type { Ask, Item, Peer, Records } from "./records.ts";

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
  /** An agent that waits at a dialog in its own terminal. */
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
  const dialogs = peers.filter(({ peer_id, status, turn_state }) =>
    turn_state === "awaiting_input" && status !== "offline" && !asking.has(peer_id)
  );
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
  return entry.kind === "note" ? entry.item.created_at : undefined;
}
