/** Open asks to the human, and the agents that cannot go on until they are answered. */

import type { Ask, InboxItem } from "protocol/wire.ts";

/** The options of a permission that is for one time. */
export const ALLOW = "allow";
export const DENY = "deny";

/** True if a question asks a person to permit what its text shows. */
export function isPermission(question: Ask["question"]): boolean {
  return question?.scope === "tool_permission";
}

/** The option whose id or title is the given text. */
export function findOption<Option extends { readonly id: string; readonly title: string }>(
  options: readonly Option[],
  text: string,
): Option | undefined {
  const normalized = text.trim().toLowerCase();
  return options.find(({ id }) => id === text) ??
    options.find(({ id }) => id.toLowerCase() === normalized) ??
    options.find(({ title }) => title.toLowerCase() === normalized);
}

/**
 * True if the human has put an item off until later than `now`. A question that keeps its agent
 * from going on cannot be put off: it ends without an answer.
 */
export function isSnoozed(
  { snoozed_until, question }: Pick<InboxItem, "snoozed_until" | "question">,
  now: number,
): boolean {
  return Boolean(snoozed_until) && Date.parse(snoozed_until ?? "") > now && !question?.blocking;
}

/** The asks that cannot be answered before `ask` is, as far as the daemon knows. */
export interface BlockedAgents {
  readonly names: readonly string[];
  /** When the longest of all these waits began; an instant. */
  readonly since: string;
}

/** An open ask to the human with its inbox item, and who waits behind it. */
export interface WaitingAsk {
  readonly item: InboxItem;
  readonly ask: Ask;
  readonly behind: BlockedAgents;
}

/**
 * Names who cannot go on until `ask` is answered: its asker, the askers of open asks to that asker,
 * and so on. `open` is all open asks.
 */
export function blockedBehind(ask: Ask, open: readonly Ask[]): BlockedAgents {
  const names = new Set<string>();
  let since = ask.created_at;
  const passed = new Set<string | null>([null, ask.to_peer_id]);
  const next = [ask.from_peer_id];
  for (let peer_id = next.pop(); peer_id !== undefined; peer_id = next.pop()) {
    if (passed.has(peer_id)) continue;
    passed.add(peer_id);
    for (const behind of open) {
      if (behind.to_peer_id !== peer_id || passed.has(behind.from_peer_id)) continue;
      names.add(behind.from_peer_name);
      if (behind.created_at < since) since = behind.created_at;
      next.push(behind.from_peer_id);
    }
  }
  return { names: [...names], since };
}

/**
 * Agents that cannot continue first, then asks that block others; the longest wait first in each.
 */
export function byUrgency(a: Urgency, b: Urgency): number {
  return rank(a) - rank(b) || a.behind.since.localeCompare(b.behind.since);
}

/** A wait for the human; its ask is unknown if it is on another machine. */
interface Urgency {
  readonly ask: Ask | undefined;
  readonly behind: BlockedAgents;
}

function rank({ ask, behind }: Urgency): number {
  if (ask?.question?.blocking) return 0;
  if (behind.names.length > 0) return 1;
  return ask?.question ? 2 : 3;
}
