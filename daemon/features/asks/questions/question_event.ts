/** What is told of a question when it is asked: its ids, its scope and its kind, never its text. */

import type { EventLog } from "kit/data/events.ts";
import type { StoredMessage } from "../../messages/contract.ts";
import type { Question } from "../../messages/question.ts";

export function publishQuestion(
  events: EventLog,
  ask: StoredMessage,
  { scope, kind }: Question,
): void {
  const { correlation_id, from_peer_id, from_peer_name, to_peer_id, to_peer_name } = ask;
  events.append("question", {
    correlation_id: correlation_id ?? "",
    from_peer_id,
    from: from_peer_name,
    to_peer_id,
    to: to_peer_name,
    scope,
    kind,
  });
}
