/** The messages of the last hour, from pages of the log. */

import type { Message } from "../records.ts";

/** A busy hour is shown by its newest messages. */
export const MESSAGES_MAX = 4000;

export interface Hour {
  /** Newest first. */
  readonly messages: readonly Message[];
  /** Whether the hour has older messages, which are not loaded. */
  readonly truncated: boolean;
}

/** What is loaded now in front of what is known of the hour. */
export function mergeHour(
  before: Hour,
  { fresh, complete, joined, since }: {
    fresh: readonly Message[];
    /** Whether the whole hour was loaded. */
    complete: boolean;
    /** Whether nothing is missing between what was loaded and what was known. */
    joined: boolean;
    since: string;
  },
): Hour {
  if (complete) return { messages: fresh, truncated: false };
  const ids = new Set(fresh.map(({ delivery_id }) => delivery_id));
  const kept = !joined
    ? []
    : before.messages.filter(({ delivery_id, created_at }) =>
      !ids.has(delivery_id) && created_at >= since
    );
  const messages = [...fresh, ...kept];
  const truncated = !joined || before.truncated || messages.length > MESSAGES_MAX;
  return { messages: messages.slice(0, MESSAGES_MAX), truncated };
}
