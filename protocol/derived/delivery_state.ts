/** The present state of a message as a sentence: how far it came, and what holds it up. */

import type { WireResponse } from "kit/http/client.ts";
import type { getTrace } from "protocol/messages/contract.ts";
import type { Message } from "protocol/wire.ts";
import { sentenceOf } from "protocol/reasons.ts";

// deno-fmt-ignore
export const TRANSPORT_LABELS: Readonly<Record<string, string>> = {
  native:    "its agent's own queue",
  websocket: "its WebSocket",
  pane:      "its terminal",
  hook:      "its hook, or a client that leases its queue",
};

/** A message, as far as its state depends on it. */
type Sent = Pick<Message, "kind" | "state" | "reason" | "close_reason" | "to_peer_name">;

/** `succeeded` is false for a message that is held up, may be lost, or did not arrive. */
export interface PresentState {
  readonly text: string;
  readonly succeeded: boolean;
}

/** The state of a message with its recorded stages. */
export function currentState(
  { kind, state, reason, close_reason, to_peer_name: to }: Sent,
  stages: readonly Pick<Stage, "stage">[],
): PresentState {
  const line = (text: string, succeeded = true): PresentState => ({ text, succeeded });
  if (kind === "ask" && close_reason) return line("the ask is closed.");
  const unanswered = kind === "ask" ? ` ${to} has not answered.` : "";
  switch (state) {
    case "queued":
      return line(`it is queued for ${to}: ${formatReason(reason)}.${unanswered}`, false);
    case "attempting":
      return line(`it is being delivered.${unanswered}`);
    case "sent":
      return stages.some(({ stage }) => stage === "unproved")
        ? line(`it is unknown whether it arrived.${unanswered}`, false)
        : line(`it was sent, and is not confirmed yet.${unanswered}`);
    case "accepted":
      return line(`it arrived; it is unknown whether it was read.${unanswered}`);
    case "seen":
      return line(`it was read.${unanswered}`);
    default:
      return line("it did not arrive.", false);
  }
}

type Stage = WireResponse<typeof getTrace>["stages"][number];

/**
 * The text of a reason. `reason` may also hold one reason per transport: `native: no_session; pane:
 * dialog_open`. An agent may have several transports with one label.
 */
export function formatReason(reason: string | null): string {
  if (reason === null) return "no reason is recorded";
  const parts = reason.split("; ").map((part) => {
    const [, transport, code = part] = /^(\w+): (.+)$/.exec(part) ?? [];
    const description = sentenceOf(code);
    return transport && TRANSPORT_LABELS[transport]
      ? `${TRANSPORT_LABELS[transport]}: ${description}`
      : description;
  });
  return [...new Set(parts)].join("; ");
}
