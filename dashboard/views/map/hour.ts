/** The messages of the last hour: loaded once, then kept current by their newest page. */

import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { type Hour, mergeHour, MESSAGES_MAX } from "./hour_pages.ts";
import type { Message, MessagePage } from "../../state/records.ts";
import { type Resource, useResource } from "../../state/resource.ts";
import { currentTime } from "../../state/clock.ts";

export const HOUR_MS = 3_600_000;
const PAGE_ROWS = 500;

export function useHour(): Resource<Hour> {
  return useResource("hour", ["messages", "asks"], () => loadHour(currentTime() - HOUR_MS));
}

let loaded: Hour = { messages: [], truncated: false };

/**
 * Loads pages until a page contains a known message. Later changes of messages older than that page
 * are shown only if their trace is opened.
 */
async function loadHour(since_ms: number): Promise<Hour> {
  const since = new Date(since_ms).toISOString();
  const known = new Set(loaded.messages.map(({ delivery_id }) => delivery_id));
  const fresh: Message[] = [];
  let cursor: string | null = null;
  let joined = false;
  do {
    const query = { since, limit: String(PAGE_ROWS), ...(cursor !== null && { cursor }) };
    const page: MessagePage = await call(at.listMessages, { query });
    fresh.push(...page.messages);
    joined = page.messages.some(({ delivery_id }) => known.has(delivery_id));
    cursor = page.next;
  } while (cursor !== null && !joined && fresh.length < MESSAGES_MAX);
  loaded = mergeHour(loaded, { fresh, complete: cursor === null, joined, since });
  return loaded;
}
