/** Loads the log: as many pages as are shown. */

import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Message, MessagePage } from "../../state/records.ts";

export const FILTERS = ["q", "peer", "circle", "kind", "state"] as const;
export type Filters = Readonly<Record<typeof FILTERS[number], string>>;

const PAGE_ROWS_MAX = 500;

export interface FoundMessages {
  readonly messages: readonly Message[];
  /** True if older messages match, too. */
  readonly more: boolean;
}

export function filtersOf(query: URLSearchParams): Filters {
  const valueOf = (name: string) => query.get(name) ?? "";
  return {
    q: valueOf("q"),
    peer: valueOf("peer"),
    circle: valueOf("circle"),
    kind: valueOf("kind"),
    state: valueOf("state"),
  };
}

/** The newest `wanted` messages that match. */
export async function loadMessages(
  filters: Filters,
  wanted: number,
  signal: AbortSignal,
): Promise<FoundMessages> {
  const given = Object.entries(filters).filter(([, value]) => value.trim() !== "");
  const messages: Message[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(wanted - messages.length, PAGE_ROWS_MAX));
    const from: [string, string][] = next === null ? [] : [["cursor", next]];
    const query = Object.fromEntries([...given, ["limit", limit], ...from]);
    const page: MessagePage = await call(at.listMessages, { query, signal });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < wanted);
  return { messages, more: next !== null };
}
