/** How an ask ended, for a person who was about to answer it. */

import type { Ask } from "../records.ts";

/** A sentence without the time. */
export function endingOf(ask: Ask): string {
  const { outcome, close_reason, responder, from_peer_name, question } = ask;
  const who = responder ?? "The daemon";
  const chosen = question?.options?.find(({ id }) => id === ask.answer?.option_id)?.title;
  const said = chosen ?? ask.reply;
  switch (outcome) {
    case "acknowledged":
      return `${who} acknowledged it.`;
    case "answered":
      return said ? `${who} answered: ${shortened(said)}` : `${who} answered it.`;
    case "declined":
      return said ? `${who} declined it: ${shortened(said)}` : `${who} declined it.`;
    case "cancelled":
      return `It was cancelled by ${responder ?? from_peer_name}.`;
    case "timed_out":
      return "It timed out.";
    case "denied":
      return responder
        ? `${who} denied it.`
        : "It was closed without an answer, which counts as denied.";
    case "failed":
      return FAILURES[close_reason ?? ""] ?? "It was closed without an answer.";
    case null:
      return "It is still open.";
  }
}

const FAILURES: Readonly<Record<string, string>> = {
  reply_to: "A later ask replaced it.",
  send_failed: "It could not be delivered.",
  peer_not_addressable: "Its recipient could not be reached any more.",
  peer_retired: "A peer that it needs has left.",
  evicted: "It was closed because nobody answered it in time.",
};

const CHARS_MAX = 200;

function shortened(text: string): string {
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
}
