/** Renders an inbox item for the chat: plain text, split into messages, and buttons. */

import * as z from "zod";
import { InboxItem, ItemState, Push } from "protocol/inbox.ts";
import { showHidden } from "kit/core/hidden.ts";
import { cleanText } from "kit/core/text.ts";
import { DENY, findOption, isPermission } from "protocol/derived/waiting.ts";
import { actLines } from "../../cli/output/act.ts";
import { clean, toPlainText } from "../../cli/output/terminal.ts";
import { truncate } from "../../cli/output/table.ts";
import { formatInstant } from "../../cli/output/time.ts";
import { endingOfItem } from "protocol/derived/endings.ts";
import type { Button, ChatStyle } from "./chat.ts";
import { withPlainDigest } from "./plain_digest.ts";

/** Room for ` (1000/1000):` after the head of each part. */
const COUNT_UNITS = 16;
const NAME_COLUMNS_MAX = 64;
const SUMMARY_COLUMNS_MAX = 120;
const FILENAME_COLUMNS_MAX = 200;
const REASON_COLUMNS_MAX = 300;
/** Maximum length of the act that a permission shows here. A longer one cannot be allowed here. */
const ACT_UNITS_MAX = 12_000;
const DENY_HINT = "To deny it and say why, reply: deny, and then the reason.";

/** The fields of an inbox item that are shown. */
export const ShownItem = InboxItem.pick({
  item_id: true,
  kind: true,
  from: true,
  text: true,
  attachments: true,
  question: true,
  created_at: true,
}).extend({
  pushes: z.array(Push.pick({ surface: true, surface_refs: true, error_class: true })).default([]),
  ...ItemState.partial().shape,
});
export type ShownItem = z.output<typeof ShownItem>;
type Question = NonNullable<ShownItem["question"]>;

interface Rendering {
  /** The texts of the messages, in order. */
  readonly texts: readonly string[];
  /** The buttons under the last message. */
  readonly buttons: readonly Button[] | undefined;
}

/**
 * The messages of an item. Each starts with the sender's name, so that an agent's text cannot
 * pretend to be from someone else.
 */
export function renderItem(item: ShownItem, style: ChatStyle): Rendering {
  const { item_id, question } = item;
  const { text_units_max } = style;
  const act = actText(item);
  const head = formatHead(item, style), body = formatBody(item, act?.text, style);
  const isOpen = item.state !== "closed";
  const buttons = question && isOpen
    ? optionButtons(item_id, question, style, act?.isWhole)
    : undefined;
  const fullText = `${head}:\n${body}`;
  if (fullText.length <= text_units_max) return { texts: [fullText], buttons };
  const parts = splitText(body, text_units_max - head.length - COUNT_UNITS);
  const texts = parts.map((part, index) => `${head} (${index + 1}/${parts.length}):\n${part}`);
  return { texts, buttons };
}

/** The notice sent in place of a message that may already have arrived. */
export function renderUncertain(item: ShownItem, style: ChatStyle): string {
  return `${formatHead(item, style)}, but I do not know whether the message arrived. ` +
    `If you do not see it above, use ${style.command_prefix}show ${item.item_id}`;
}

/** The caption of a file. It begins with the sender, which the name of a file cannot forge. */
export function renderCaption(
  { from, pushes }: ShownItem,
  filename: string,
  style: ChatStyle,
): string {
  const name = truncate(clean(filename), FILENAME_COLUMNS_MAX);
  return `📎 ${formatSender(from)}${formatRepeated(pushes, style)}: ${name}`;
}

/** The notice sent in place of a file that may already have arrived. */
export function renderUncertainFile(
  caption: string,
  item_id: string,
  { command_prefix }: ChatStyle,
): string {
  return `${caption}\nI do not know whether this file arrived. ` +
    `If you do not see it above, use ${command_prefix}show ${item_id}`;
}

/** The text sent in place of a file that cannot be sent. */
export function renderNotSent(caption: string, item_id: string, why: string): string {
  const reason = truncate(clean(why), REASON_COLUMNS_MAX);
  return `${caption}\nThis file was not sent: ${reason}\nmesh inbox show ${item_id}`;
}

/** One entry of the inbox list. */
export function formatSummary(
  { item_id, kind, from, text, question }:
    & Pick<ShownItem, "item_id" | "kind" | "from" | "text">
    & { readonly question: { readonly act?: { readonly title: string } | undefined } | null },
  style: ChatStyle,
): string {
  const summary = truncate(clean(question?.act?.title ?? text), SUMMARY_COLUMNS_MAX);
  return `${formatHead({ kind, from }, style)}: ${summary}\n${style.command_prefix}show ${item_id}`;
}

/**
 * Splits a text into parts of at most `maxUnits`: at a line end if one is near, otherwise between
 * words, otherwise anywhere but inside a character.
 */
export function splitText(text: string, maxUnits: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxUnits) {
    const index = cutIndex(rest, maxUnits);
    parts.push(rest.slice(0, index));
    // The space or line end at the cut is dropped, because the gap between messages replaces it.
    rest = rest.slice(/\s/.test(rest[index] ?? "") ? index + 1 : index);
  }
  return rest === "" ? parts : [...parts, rest];
}

function cutIndex(text: string, maxUnits: number): number {
  const line = text.lastIndexOf("\n", maxUnits);
  if (line >= maxUnits / 2) return line;
  const word = Math.max(text.lastIndexOf(" ", maxUnits), text.lastIndexOf("\t", maxUnits));
  if (word >= maxUnits / 2) return word;
  return isInsidePair(text, maxUnits) ? maxUnits - 1 : maxUnits;
}

function isInsidePair(text: string, index: number): boolean {
  return /[\ud800-\udbff]/.test(text[index - 1] ?? "") && /[\udc00-\udfff]/.test(text[index] ?? "");
}

type HeadFields = Pick<ShownItem, "kind" | "from"> & Partial<ShownItem>;

function formatHead(
  { kind, from, question, pushes = [] }: HeadFields,
  style: ChatStyle,
): string {
  const sender = formatSender(from), repeated = formatRepeated(pushes, style);
  if (kind === "notify") return `💬 ${sender} says${repeated}`;
  return question && isPermission(question)
    ? `🔐 ${sender} asks for permission${repeated}`
    : `❓ ${sender} asks${repeated}`;
}

function formatSender(from: string): string {
  return truncate(clean(from), NAME_COLUMNS_MAX);
}

function formatRepeated(pushes: ShownItem["pushes"], { surface: name }: ChatStyle): string {
  return pushes.some((push) => push.surface === name && mayBeShown(push)) ? " (again)" : "";
}

/** True if an earlier push sent, or may have sent, a part of the item. */
function mayBeShown({ surface_refs, error_class }: ShownItem["pushes"][number]): boolean {
  return surface_refs.length > 0 || error_class === "unclear";
}

interface ActText {
  readonly text: string;
  readonly isWhole: boolean;
}

/** The act that the person is asked to permit, as far as it fits; undefined for other items. */
function actText({ item_id, text, question }: ShownItem): ActText | undefined {
  const lines = actLines(text, question)?.map((line) => line.map(toPlainText).join(""));
  if (!lines) return undefined;
  const kept: string[] = [];
  let rest = ACT_UNITS_MAX;
  for (const line of lines) {
    rest -= line.length + 1;
    if (rest < 0) break;
    kept.push(line);
  }
  const missing = lines.length - kept.length;
  const noun = missing === 1 ? "line is" : "lines are";
  const isWhole = missing === 0 && !question?.act?.is_cut;
  const count = missing > 0 ? [`${missing} more ${noun} not shown here.`] : [];
  const note = isWhole ? [] : ["", [...count, whereToAllow(item_id)].join(" ")];
  const reason = question?.act?.takes_reason ? ["", DENY_HINT] : [];
  return { text: [...kept, ...note, ...reason].join("\n"), isWhole };
}

function whereToAllow(item_id: string): string {
  return `To allow it, read all of it on the dashboard or with mesh inbox show ${item_id}`;
}

/**
 * The reason why a text may not choose its option here: it permits an act of which this chat shows
 * only a part.
 */
export function whyNotHere(item: ShownItem, text: string): string | undefined {
  const act = item.state === "closed" ? undefined : actText(item);
  const option = act?.isWhole === false && findOption(item.question?.options ?? [], text);
  if (!option || option.id === DENY) return undefined;
  return `This chat does not show all of it. ${whereToAllow(item.item_id)}`;
}

function formatBody(item: ShownItem, act: string | undefined, style: ChatStyle): string {
  const { item_id, text, question, attachments, expires_at } = item;
  const isOver = item.state === "closed" && question !== null;
  const expiry = isOver ? endingText(item) : expires_at && untilText(expires_at);
  const prompt = question?.prompt === text || act !== undefined ? undefined : question?.prompt;
  const isExact = isPermission(question);
  const options = question?.options ?? [];
  const showsOptionList = options.length > 0 &&
    (options.some((option) => isLong(option, style)) || !optionButtons(item_id, question, style));
  const lines = [
    act ?? (isExact ? showHidden(text) : withPlainDigest(text)),
    ...(prompt ? ["", isExact ? showHidden(prompt) : prompt] : []),
    ...(showsOptionList
      ? ["", ...options.map((option, index) => `${index + 1}. ${optionLabel(option)}`)]
      : []),
    ...(attachments.length > 0
      ? ["", `📎 ${attachments.length} attached: mesh inbox show ${item_id}`]
      : []),
    ...(expiry ? ["", expiry] : []),
  ];
  return cleanText(lines.join("\n"));
}

function untilText(expires_at: number): string {
  return `Answer until ${formatInstant(expires_at)}.`;
}

type Option = Question["options"][number];

function optionLabel({ id, title }: Option): string {
  return clean(title).trim() || clean(id);
}

function isLong(option: Option, { button_columns_max }: ChatStyle): boolean {
  return truncate(optionLabel(option), button_columns_max) !== optionLabel(option);
}

/** A tapped button: the index of a question's option, or undefined for "OK". */
export type Choice = { readonly item_id: string; readonly option: number | undefined };

function optionButtons(
  item_id: string,
  question: Question | null,
  style: ChatStyle,
  isWhole = true,
): Button[] | undefined {
  if (!question || question.kind === "text") return undefined;
  const buttons = question.options.flatMap((option, index) =>
    isWhole || option.id === DENY
      ? [toButton(optionLabel(option), `a:${index}:${item_id}`, style)]
      : []
  );
  if (question.kind === "acknowledge" && buttons.length === 0) {
    buttons.push(toButton("👌 OK", `k:${item_id}`, style));
  }
  const fits = buttons.every(({ data }) =>
    new TextEncoder().encode(data).length <= style.button_data_bytes_max
  );
  return buttons.length > 0 && fits ? buttons : undefined;
}

function toButton(label: string, data: string, { button_columns_max }: ChatStyle): Button {
  return { text: truncate(label, button_columns_max), data };
}

/** A sentence on the end of an item's ask. */
export function endingText(item: ShownItem): string {
  const { from, question, outcome = null, close_reason = null, responder = null } = item;
  const { option_id = null } = item;
  if (outcome === null) return "It is over.";
  return endingOfItem({ from, question, outcome, close_reason, responder, option_id });
}

/** The button that replaces those of an item that was not answered in this chat. */
export function endedButtons(item: ShownItem, style: ChatStyle): Button[] {
  return [toButton(`⏹ ${clean(endingText(item))}`, `e:${item.item_id}`, style)];
}

/** The button that sends a text as a new ask. `ref` is the message with the text. */
export function confirmButtons(ref: string, style: ChatStyle): Button[] {
  return [toButton("Send it as a new question", `n:${ref}`, style)];
}

/** The message whose text a tap sends as a new ask. */
export function parseConfirmation(data: string): string | undefined {
  return /^n:(.+)$/.exec(data)?.[1];
}

/** The single button that replaces all buttons after a tap. */
export function chosenButtons(label: string, item_id: string, style: ChatStyle): Button[] {
  return [toButton(`✓ ${label}`, `d:${item_id}`, style)];
}

/** True if a button shows the person's choice. */
export function isChosen({ data }: Button): boolean {
  return data.startsWith("d:");
}

/** Parses the data of a button; undefined for a button that no longer has an effect. */
export function parseChoice(data: string): Choice | undefined {
  const [, index, item_id] = /^(?:a:(\d{1,2})|k):(.+)$/.exec(data) ?? [];
  return item_id === undefined ? undefined : { item_id, option: index ? Number(index) : undefined };
}

export function getOption(
  question: Question | null,
  index: number,
): (Option & { label: string }) | undefined {
  const option = question?.options[index];
  return option && { ...option, label: optionLabel(option) };
}
