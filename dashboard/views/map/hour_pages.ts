/** The messages of the last hour, from pages of the log. */

import type { Message } from "../../state/records.ts";

/** Maximum messages of an hour: the newest ones. */
export const MESSAGES_MAX = 4000;

export interface Hour {
  /** Newest first. */
  readonly messages: readonly Message[];
  /** True if the hour has older messages, which are not loaded. */
  readonly truncated: boolean;
}

/** Puts the newly loaded messages before the known messages of the hour. */
export function mergeHour(
  before: Hour,
  { fresh, complete, joined, since }: {
    fresh: readonly Message[];
    /** True if the whole hour was loaded. */
    complete: boolean;
    /** True if there is no gap between the loaded and the known messages. */
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
