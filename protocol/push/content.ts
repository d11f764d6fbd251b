/** The texts of pushes, and the rule for their buttons. */

import { cleanLine, cleanText } from "kit/core/text.ts";
import { endingOfItem } from "protocol/derived/endings.ts";
import { isPermission } from "protocol/derived/waiting.ts";
import type { InboxItem } from "protocol/inbox.ts";
import type { PushAction } from "protocol/push/payload.ts";

/** Characters of a notification that every platform shows without opening it. */
const SHOWN_CHARS_MAX = 180;
const SHOWN_LINES_MAX = 4;
const TITLE_CHARS_MAX = 80;
/** More buttons, or longer ones, do not fit. */
const ACTIONS_MAX = 2;
const ACTION_CHARS_MAX = 24;
const OPTION_ID_CHARS_MAX = 64;

/** The kinds of pushes, which a person may switch on and off for each device. */
export type PushTopic = "questions" | "approvals" | "done";

type Item = Pick<
  InboxItem,
  | "kind"
  | "from"
  | "text"
  | "attachments"
  | "question"
  | "outcome"
  | "close_reason"
  | "responder"
  | "option_id"
>;

type ItemEnding = Pick<Item, "outcome" | "close_reason" | "responder" | "option_id">;

export interface PushContent {
  readonly title: string;
  readonly body: string;
  readonly actions: readonly PushAction[];
}

/** `done`: replies, reports and notices, which need no answer. */
export function topicOf({ kind, question }: Pick<Item, "kind" | "question">): PushTopic {
  if (kind !== "ask") return "done";
  return isPermission(question) ? "approvals" : "questions";
}

/**
 * The notification of an item. It has buttons only if it shows the whole act as it is: a person
 * must not allow what they cannot read.
 */
export function contentOf(item: Omit<Item, keyof ItemEnding>): PushContent {
  const { kind, from, text, attachments, question } = item;
  const title = question?.act
    ? `${from}: ${question.act.title}`
    : isPermission(question)
    ? `${from} asks for permission`
    : kind === "ask"
    ? `${from} asks you`
    : `${from} writes to you`;
  const whole = question?.prompt && question.prompt !== text ? `${question.prompt}\n${text}` : text;
  const body = shorten(whole);
  const isWhole = kind === "ask" && body === whole && attachments.length === 0 &&
    showsWholeInput(question);
  return { title: shortenLine(title), body, actions: isWhole ? actionsOf(question) : [] };
}

/** The notification that replaces that of an item which is over. */
export function closingContentOf(item: Item): PushContent {
  const { kind, from } = item;
  const title = kind === "ask" ? `Over: ${from} asked you` : `Read: ${from} wrote to you`;
  const body = kind === "ask" ? shorten(endingOfItem(item)) : "";
  return { title: shortenLine(title), body, actions: [] };
}

/** The mark of a text whose middle is cut. */
const CUT = /…\(\d+ more(?: bytes)?\)…/;

/** False if the prompt of a permission leaves a part of the tool's input out. */
function showsWholeInput(question: Item["question"]): boolean {
  const { tool_input, tool_input_is_cut } = question?.metadata ?? {};
  if (tool_input_is_cut === true || CUT.test(question?.prompt ?? "")) return false;
  return typeof tool_input !== "string" || cleanText(tool_input) === tool_input;
}

function actionsOf(question: Item["question"]): PushAction[] {
  const options = question?.kind === "choice" ? question.options : [];
  const fits = options.length <= ACTIONS_MAX &&
    options.every(({ id, title }) =>
      id.length <= OPTION_ID_CHARS_MAX && title !== "" && title.length <= ACTION_CHARS_MAX &&
      cleanLine(title) === title
    );
  return fits ? options.map(({ id, title }) => ({ option_id: id, title })) : [];
}

/** The first lines of a text, without characters that are invisible or change the order. */
function shorten(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/).map((line) => cleanLine(line));
  const shown = lines.slice(0, SHOWN_LINES_MAX).join("\n");
  if (shown.length <= SHOWN_CHARS_MAX && lines.length <= SHOWN_LINES_MAX) return shown;
  return `${shown.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…`;
}

function shortenLine(text: string): string {
  const line = cleanLine(text);
  return line.length <= TITLE_CHARS_MAX
    ? line
    : `${line.slice(0, TITLE_CHARS_MAX).toWellFormed()}…`;
}
