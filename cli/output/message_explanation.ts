/** A trace in plain English: what became of a message, and why. Pure; prints nothing. */

import type { WireResponse } from "kit/http/client.ts";
import type { getMessage } from "../../daemon/features/messages/log/contract.ts";
import type { getTrace } from "../../daemon/features/messages/contract.ts";
import { sentenceOf } from "kit/core/reasons.ts";

type Message = WireResponse<typeof getMessage>;
type Trace = WireResponse<typeof getTrace>;
type Stage = Trace["stages"][number];

/** One sentence, and when it happened; null for what holds now. */
export interface Sentence {
  readonly at: string | null;
  readonly text: string;
  readonly succeeded: boolean;
}

const QUOTE_CHARS = 80;

// deno-fmt-ignore
const TRANSPORT_LABELS: Readonly<Record<string, string>> = {
  native:    "its agent's own inbox",
  websocket: "its open socket",
  pane:      "its terminal",
  hook:      "its hook, or whoever drains its queue",
};

/** What became of it, in order; the last line is how it stands. */
export function explainMessage(message: Message, { stages }: Trace): Sentence[] {
  const sentences = stages.flatMap((stage) => {
    const text = stageSentence(message, stage);
    return text === undefined ? [] : [{ at: stage.ts, text, succeeded: stage.status === "ok" }];
  });
  return [...sentences, currentSentence(message, stages.some(({ stage }) => stage === "unproved"))];
}

/** Undefined for a stage that says nothing beside the others. */
function stageSentence(message: Message, { stage, detail }: Stage): string | undefined {
  const { to_peer_name: to, close_reason } = message;
  switch (stage) {
    case "created":
      return createdSentence(message);
    case "resolved":
    case "acked":
    case "queued":
      return undefined;
    case "attempting":
      return `The daemon tried ${(detail && TRANSPORT_LABELS[detail]) ?? "to carry it"}.`;
    case "sent":
      return detail ? `It went out; ${formatReason(detail)}.` : "It went out.";
    case "accepted":
      return `${to}'s end said that it has it.`;
    case "seen":
      return `${to} has seen it: its id stood in the agent's own prompt.`;
    case "unproved":
      return "Nothing proved that it arrived. It may have, so that it is not sent again.";
    case "expired":
    case "dropped":
      if (detail !== null && detail === close_reason) return undefined; // Its end says it all.
      return `It was given up: ${formatReason(detail)}.`;
    case "failed":
      return `${to}'s end refused it: ${formatReason(detail)}.`;
    case "closed":
      return closedSentence(message);
    default:
      return `${stage.replaceAll("_", " ")}${detail ? `: ${formatReason(detail)}` : ""}.`;
  }
}

function createdSentence({ kind, from_peer_name: from, to_peer_name: to, text }: Message): string {
  // deno-fmt-ignore
  const phrases = {
    ask: "asked", notify: "told", broadcast: "told everybody, and so",
    ack: "closed an ask of", inbox_item: "wrote to",
  };
  return `${from} ${phrases[kind]} ${to}${text ? `: ${quote(text)}` : ", without a text."}`;
}

function closedSentence(
  { close_reason, reply, responder, from_peer_name, to_peer_name }: Message,
): string {
  const responderName = responder ?? to_peer_name;
  const replyText = reply ? `: ${quote(reply)}` : ".";
  switch (close_reason) {
    case "ack":
      return `${responderName} acknowledged it, without a text.`;
    case "ack_with_msg":
    case "answered":
      return `${responderName} answered${replyText}`;
    case "declined":
      return `${responderName} declined${replyText}`;
    case "cancelled":
      return `${from_peer_name} took it back${replyText}`;
    case "reply_to":
      return `${responderName} asked back, which took its place.`;
    case "evicted":
      return "Nobody answered in time, and it was closed.";
    default:
      return `It was closed: ${formatReason(close_reason)}.`;
  }
}

/** How it stands now. */
function currentSentence(
  { kind, state, reason, close_reason, ...message }: Message,
  unproved: boolean,
) {
  const { to_peer_name: to } = message;
  const line = (text: string, succeeded = true): Sentence => ({ at: null, text, succeeded });
  if (kind === "ask" && close_reason) return line("So: the ask is closed.");
  const unanswered = kind === "ask" ? ` ${to} has not answered.` : "";
  switch (state) {
    case "queued":
      return line(
        `So: it waits on the disk for ${to}: ${formatReason(reason)}.${unanswered}`,
        false,
      );
    case "attempting":
      return line(`So: it is on its way.${unanswered}`);
    case "sent":
      return unproved
        ? line(`So: whether it arrived is not known.${unanswered}`, false)
        : line(`So: it went out, and a proof may still come.${unanswered}`);
    case "accepted":
      return line(`So: it arrived; whether it was read is not known.${unanswered}`);
    case "seen":
      return line(`So: it was read.${unanswered}`);
    default:
      return line("So: it did not arrive.", false);
  }
}

/** A reason, or several of a ladder: `native: no_session; pane: dialog_open`. */
export function formatReason(reason: string | null): string {
  if (reason === null) return "nothing says why";
  return reason.split("; ").map((one) => {
    const [, transport, code = one] = /^(\w+): (.+)$/.exec(one) ?? [];
    const description = sentenceOf(code);
    return transport && TRANSPORT_LABELS[transport]
      ? `${TRANSPORT_LABELS[transport]}: ${description}`
      : description;
  }).join("; ");
}

function quote(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const chars = Array.from(line);
  return `“${chars.length > QUOTE_CHARS ? `${chars.slice(0, QUOTE_CHARS).join("")}…` : line}”`;
}
