/** Finds the person's messages without an event, in the history of the conversation. */

import type { Clock } from "kit/core/clock.ts";
import type { WrittenMessage } from "./envelopes.ts";
import type { HandledMessages } from "./handled_messages.ts";
import { isLater, type Timestamp, timestampAt } from "./timestamps.ts";
import type { SlackMessage, WebApi } from "./web_api.ts";
import { toMs } from "./incoming.ts";

/** Maximum age of the first message of a thread whose new replies are read. */
const THREAD_AGE_MS_MAX = 7 * 24 * 3_600_000;
const PAGE_MESSAGES = 200;
const PAGES_MAX = 5;
/** Maximum number of threads with new replies that are read at once, the newest first. */
export const THREADS_MAX = 40;
/** Messages may appear in the history a little later than their timestamp says. */
const APPEAR_MS_MAX = 600_000;

interface MissedMessages {
  /** In the order in which they were written. */
  readonly messages: readonly WrittenMessage[];
  /** False if the history has more messages than were read. */
  readonly isComplete: boolean;
  /** Once these messages are handled, all messages up to this one are handled. */
  readonly through: Timestamp;
}

/** Finds the messages since `handled.since` that are not handled. */
export async function findMissed(
  { api, clock, handled, channel, bot_user, user }: {
    api: Pick<WebApi, "history" | "replies">;
    clock: Clock;
    handled: HandledMessages;
    channel: string;
    /** The app's id. */
    bot_user: string;
    /** The person's id. */
    user: string;
  },
  signal: AbortSignal,
): Promise<MissedMessages> {
  const range = { limit: PAGE_MESSAGES, pages_max: PAGES_MAX };
  const oldest = timestampAt(clock.now() - THREAD_AGE_MS_MAX);
  const top = await api.history(channel, { ...range, oldest }, signal);
  const isNew = ({ user, latest_reply }: SlackMessage) =>
    user === bot_user && latest_reply !== undefined && isLater(latest_reply, handled.since);
  const threads = top.messages.filter(isNew);
  const found = [...top.messages];
  let isComplete = top.complete && threads.length <= THREADS_MAX;
  for (const { ts } of threads.slice(0, THREADS_MAX)) {
    const replies = await api.replies(channel, ts, { ...range, oldest: handled.since }, signal);
    found.push(...replies.messages.filter((message) => message.ts !== ts));
    isComplete &&= replies.complete;
  }
  const inOrder = found.sort((a, b) => isLater(a.ts, b.ts) ? 1 : -1);
  const newest = inOrder.at(-1)?.ts;
  const through = newest === undefined
    ? handled.since
    : timestampAt(Math.max(0, toMs(newest) - APPEAR_MS_MAX));
  const messages = inOrder.filter((message) => message.user === user && !handled.has(message.ts));
  return { messages: messages.map((message) => ({ ...message, channel })), isComplete, through };
}
