/** Texts to the person that are not items. */

import { Backoff } from "../../cli/client/backoff.ts";
import { ChatError, type OutgoingText } from "./chat.ts";
import { type ChatDeps, tryChat } from "./daemon_calls.ts";

const RETRY_MS_MAX = 30_000;
/** Maximum number of sends of a text whose outcome is unclear each time. */
const UNCLEAR_MAX = 3;

/** Sends a text once. A failure is only logged. */
export async function sendNotice(
  deps: ChatDeps,
  notice: OutgoingText,
  signal: AbortSignal,
): Promise<void> {
  await tryChat(deps, () => deps.chat.sendText(notice, signal));
}

/**
 * Informs the person that a message was not forwarded. Tries until the chat has accepted or refused
 * the text: the person must not believe that the message has arrived.
 */
export async function reportNotSent(
  deps: Pick<ChatDeps, "chat" | "clock" | "ids" | "log">,
  notice: OutgoingText,
  signal: AbortSignal,
): Promise<void> {
  const { chat, log } = deps;
  const backoff = new Backoff(deps, RETRY_MS_MAX);
  for (let unclear = 0; !signal.aborted && unclear < UNCLEAR_MAX;) {
    try {
      return void await chat.sendText(notice, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ChatError) || error.error_class === "unauthorized") throw error;
      const { error_class, message, retry_after_ms } = error;
      log(`${chat.style.title}: ${message}`);
      if (error_class === "bad_request" || error_class === "forbidden") return;
      if (error_class === "unclear") unclear++;
      await backoff.pause(signal, retry_after_ms);
    }
  }
}
