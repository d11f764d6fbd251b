/** Explains a message's trace in plain English, for `mesh why`. */

import type { WireResponse } from "kit/http/client.ts";
import type { getMessage } from "protocol/messages/log.ts";
import type { getTrace } from "protocol/messages/contract.ts";
import { currentState, formatReason, TRANSPORT_LABELS } from "protocol/derived/delivery_state.ts";
import { originText } from "protocol/derived/origins.ts";
import { endedInTerminal } from "protocol/derived/endings.ts";
import { markdownLine } from "./markdown.ts";
import { toPlainText } from "./terminal.ts";

type Message = WireResponse<typeof getMessage>;
type Trace = WireResponse<typeof getTrace>;
type Stage = Trace["stages"][number];

/** One sentence of an explanation. `at` is null for the sentence on the current state. */
interface Sentence {
  readonly at: string | null;
  readonly text: string;
  readonly succeeded: boolean;
}

const QUOTE_CHARS = 80;

/**
 * The sentences on a message in order. The last ones say the message's current state, and what its
 * recipient waits for, if that holds it up.
 */
export function explainMessage(
  message: Message,
  { stages }: Trace,
  wait?: string,
): Sentence[] {
  // A receipt may be recorded before the sending that it confirms.
  const inOrder = stages.toSorted((a, b) => Date.parse(a.ts) - Date.parse(b.ts));
  const transport = inOrder.findLast(({ stage }) => stage === "attempting")?.detail ?? null;
  const sentences = inOrder.flatMap((stage) => {
    const text = stageSentence(message, stage, transport);
    return text === undefined ? [] : [{ at: stage.ts, text, succeeded: stage.status === "ok" }];
  });
  const { text, succeeded } = currentState(message, stages);
  const current = { at: null, text: `Now: ${text}`, succeeded };
  const reason = wait === undefined ? [] : [{ at: null, text: `${wait}.`, succeeded: false }];
  const began = message.chain && !isItsSender(message.chain, message)
    ? [{ at: null, text: `Its work began with: ${originText(message.chain)}.`, succeeded: true }]
    : [];
  return [...sentences, ...began, current, ...reason];
}

/** The stages of an answer that is checked. The detail says what was found. */
const CHECKED: Readonly<Record<string, string>> = {
  answer_proving: "An answer was given, and held while it was checked.",
  answer_returned: "The answer was refuted, and went back to its author.",
  answer_verified: "The answer was verified.",
  answer_refuted: "The answer was refuted, and was passed on as such.",
  answer_unproved: "The answer could not be checked, and was passed on as such.",
  answer_withdrawn: "The check of the answer ended, because the ask ended otherwise.",
};

/** The sentence on one stage; undefined for a stage that other stages already imply. */
function stageSentence(
  message: Message,
  { stage, detail }: Stage,
  transport: string | null,
): string | undefined {
  const { to_peer_name: to, close_reason } = message;
  switch (stage) {
    case "created":
      return createdSentence(message);
    case "resolved":
    case "acked":
    case "queued":
      return undefined;
    case "attempting":
      return `The daemon tried ${(detail && TRANSPORT_LABELS[detail]) ?? "to deliver it"}.`;
    case "sent":
      return detail ? `It was sent; ${formatReason(detail)}.` : "It was sent.";
    case "accepted":
      return `${to} confirmed receipt.`;
    case "seen":
      return transport === "hook"
        ? `${to} has seen it: the agent went on with what its hook was given.`
        : `${to} has seen it: the agent's prompt contained its id.`;
    case "wake_asked":
      return `${to} was asleep, and the human was asked whether to wake it.`;
    case "waking":
      return `${to} was asleep, and its session was resumed.`;
    case "woken":
      return `${to} was awake.`;
    case "wake_refused":
      return `${to} was not woken: ${detail ?? "a person refused"}.`;
    case "wake_failed":
      return `${to} could not be woken: ${detail ?? "no reason is recorded"}.`;
    case "reminded":
      return `${to} ended its turn without an answer, and was reminded by its hook.`;
    case "restated":
      return `An agent was told of it again, ${detail}.`;
    case "restated_seen":
      return `The agent has read that, ${detail}.`;
    case "unproved":
      return "Nothing confirms that it arrived. It may have, so it is not sent again.";
    case "expired":
    case "dropped":
      // This stage gets no sentence, because the closing sentence gives the same reason.
      if (detail !== null && detail === close_reason) return undefined;
      return `Delivery was given up: ${formatReason(detail)}.`;
    case "failed":
      return `${to} refused it: ${formatReason(detail)}.`;
    case "closed":
      return closedSentence(message);
    default:
      if (stage in CHECKED) return `${CHECKED[stage]} ${detail ?? ""}`.trim();
      return `${stage.replaceAll("_", " ")}${detail ? `: ${formatReason(detail)}` : ""}.`;
  }
}

function createdSentence({ kind, from_peer_name: from, to_peer_name: to, text }: Message): string {
  // deno-fmt-ignore
  const phrases = {
    ask: "asked", notify: "notified", broadcast: "sent a broadcast that reached",
    ack: "closed an ask of", inbox_item: "wrote to",
  };
  return `${from} ${phrases[kind]} ${to}${text ? `: ${quote(text)}` : ", without text."}`;
}

function closedSentence(
  { close_reason, outcome, reply, responder, from_peer_name, to_peer_name }: Message,
): string {
  const responderName = responder ?? to_peer_name;
  const replyText = reply ? `: ${quote(reply)}` : ".";
  switch (close_reason) {
    case "ack":
      return `${responderName} acknowledged it, without text.`;
    case "ack_with_msg":
    case "answered":
      return `${responderName} answered${replyText}`;
    case "declined":
      return `${responderName} declined${replyText}`;
    case "cancelled":
      if (endedInTerminal(outcome)) {
        return `It was ${outcome.replace("_there", "")} in the terminal of ${from_peer_name}.`;
      }
      return `${from_peer_name} cancelled it${replyText}`;
    case "reply_to":
      return `${responderName} replied with a new ask, which replaced it.`;
    case "evicted":
      return "It was closed because nobody answered in time.";
    default:
      return `It was closed: ${formatReason(close_reason)}.`;
  }
}

/** The beginning of a text, without the marks of Markdown. */
export function quote(text: string): string {
  const line = markdownLine(text.replaceAll(/\s+/g, " ").trim()).map(toPlainText).join("");
  const chars = Array.from(line);
  return `“${chars.length > QUOTE_CHARS ? `${chars.slice(0, QUOTE_CHARS).join("")}…` : line}”`;
}

/** How an ask was closed, as one or two words: `answered`, not `ack_with_msg`. */
export function formatCloseReason(reason: string): string {
  const names: Readonly<Record<string, string>> = {
    ack: "acknowledged",
    ack_with_msg: "answered",
    evicted: "timed out",
    reply_to: "replaced by a follow-up",
  };
  return names[reason] ?? reason.replaceAll("_", " ");
}

/** True if the first sentence says it all: the sender began the work with this message. */
function isItsSender(
  { origin, root }: NonNullable<Message["chain"]>,
  { delivery_id, correlation_id }: Message,
): boolean {
  const isOwn = root === delivery_id || root === correlation_id;
  return isOwn && (origin === "peer" || origin === "unknown");
}
