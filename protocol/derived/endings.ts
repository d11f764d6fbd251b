/** Describes the end of an ask to a person who was about to answer it. */

import type { Ask, InboxItem } from "protocol/wire.ts";

type AskEnding = Pick<Ask, "outcome" | "close_reason" | "responder">;

/** A sentence without the time. */
export function endingOf(ask: Ask): string {
  const chosen = titleOf(ask.question, ask.answer?.option_id);
  return sentence(ask, { asker: ask.from_peer_name, said: chosen ?? ask.reply });
}

/** The same for the ask of an inbox item. */
export function endingOfItem(
  item: AskEnding & Pick<InboxItem, "from" | "question" | "option_id">,
): string {
  return sentence(item, { asker: item.from, said: titleOf(item.question, item.option_id) ?? null });
}

/** True if the question was decided, or ended, in the terminal of the agent that asked it. */
export function endedInTerminal(outcome: string | null): outcome is `${string}_there` {
  return outcome?.endsWith("_there") ?? false;
}

function titleOf(question: Ask["question"], option_id: string | null | undefined) {
  return question?.options?.find(({ id }) => id === option_id)?.title;
}

function sentence(
  { outcome, close_reason, responder }: AskEnding,
  { asker, said }: { asker: string; said: string | null },
): string {
  const who = responder ?? "The daemon";
  switch (outcome) {
    case "acknowledged":
      return `${who} acknowledged it.`;
    case "answered":
      return said ? `${who} answered: ${shorten(said)}` : `${who} answered it.`;
    case "declined":
      return said ? `${who} declined it: ${shorten(said)}` : `${who} declined it.`;
    case "cancelled":
      return `It was cancelled by ${responder ?? asker}.`;
    case "timed_out":
      return "It timed out.";
    case "denied":
      return responder
        ? `${who} denied it.`
        : "It was closed without an answer, which counts as denied.";
    case "failed":
      return FAILURES[close_reason ?? ""] ?? "It was closed without an answer.";
    case "allowed_there":
      return "It was allowed in the agent's own terminal.";
    case "denied_there":
      return "It was denied in the agent's own terminal.";
    case "ended_there":
      return "It ended in the agent's own terminal; how is not known.";
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

function shorten(text: string): string {
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
}
