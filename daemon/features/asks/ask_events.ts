/**
 * Publishes the events of a new ask: `ask`, and `question` if it has a structured question. They
 * carry no text.
 */

import type { EventLog } from "kit/data/events.ts";
import type { AskFields, StoredMessage } from "../messages/contract.ts";
import type { Question } from "../messages/question.ts";

export function publishOpened(
  events: EventLog,
  ask: StoredMessage,
  reply_delivery: AskFields["reply_delivery"],
  question: Question | undefined,
): void {
  const parties = {
    correlation_id: ask.correlation_id ?? "",
    from_peer_id: ask.from_peer_id,
    from: ask.from_peer_name,
    to_peer_id: ask.to_peer_id,
    to: ask.to_peer_name,
  };
  events.append("ask", { ...parties, reply_delivery });
  if (!question) return;
  const { scope, kind } = question;
  events.append("question", { ...parties, scope, kind });
}
