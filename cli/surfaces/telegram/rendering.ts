/** Renders an inbox item for the chat: plain text, split into messages, and buttons. */

import * as z from "zod";
import { InboxItem, Push } from "../../../daemon/features/inbox/contract.ts";
import { cleanText } from "kit/core/text.ts";
import { clean } from "../../output/terminal.ts";
import { truncate } from "../../output/table.ts";
import type { Keyboard } from "./bot_api.ts";

/** The name of this surface, in `/ws`, in pushes and in replies. */
export const SURFACE = "telegram";

/** The longest message that Telegram accepts, in UTF-16 units. */
export const MESSAGE_UNITS_MAX = 4096;
/** Room for ` (1000/1000):` after the head of each part. */
const COUNT_UNITS = 16;
const NAME_COLUMNS_MAX = 64;
const BUTTON_COLUMNS_MAX = 48;
const SUMMARY_COLUMNS_MAX = 120;
const CALLBACK_BYTES_MAX = 64;

/** The fields of an inbox item that are shown. */
export const ShownItem = InboxItem.pick({
  item_id: true,
  kind: true,
  from: true,
  text: true,
  attachments: true,
  question: true,
}).extend({
  pushes: z.array(Push.pick({ surface: true, surface_refs: true, error_class: true })).default([]),
});
export type ShownItem = z.output<typeof ShownItem>;
type Question = NonNullable<ShownItem["question"]>;

export interface Rendering {
  /** The texts of the messages, in order. */
  readonly texts: readonly string[];
  /** The buttons under the last message. */
  readonly keyboard: Keyboard | undefined;
}

/**
 * The messages of an item. Each starts with the sender's name, so that an agent's text cannot
 * pretend to be from someone else.
 */
export function renderItem(item: ShownItem): Rendering {
  const { item_id, question } = item;
  const head = formatHead(item), body = formatBody(item);
  const keyboard = question ? optionKeyboard(item_id, question) : undefined;
  const fullText = `${head}:\n${body}`;
  if (fullText.length <= MESSAGE_UNITS_MAX) return { texts: [fullText], keyboard };
  const parts = splitText(body, MESSAGE_UNITS_MAX - head.length - COUNT_UNITS);
  const texts = parts.map((part, index) => `${head} (${index + 1}/${parts.length}):\n${part}`);
  return { texts, keyboard };
}

/** The notice sent in place of a message that may already have arrived. */
export function renderUncertain(item: ShownItem): string {
  return `${formatHead(item)}, but I do not know whether the message arrived. ` +
    `If you do not see it above, use /show ${item.item_id}`;
}

/** One entry of the /inbox list. */
export function formatSummary(
  { item_id, kind, from, text }: Pick<ShownItem, "item_id" | "kind" | "from" | "text">,
): string {
  return `${formatHead({ kind, from })}: ${
    truncate(clean(text), SUMMARY_COLUMNS_MAX)
  }\n/show ${item_id}`;
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

function formatHead({ kind, from, question, pushes = [] }: HeadFields): string {
  const sender = truncate(clean(from), NAME_COLUMNS_MAX);
  const repeated = pushes.some(mayBeShown) ? " (again)" : "";
  if (kind === "notify") return `💬 ${sender} says${repeated}`;
  const permission = question?.scope === "tool_permission";
  return permission
    ? `🔐 ${sender} asks for permission${repeated}`
    : `❓ ${sender} asks${repeated}`;
}

/** Whether an earlier push of this surface sent, or may have sent, a part of the item. */
function mayBeShown({ surface, surface_refs, error_class }: ShownItem["pushes"][number]): boolean {
  return surface === SURFACE && (surface_refs.length > 0 || error_class === "unclear");
}

function formatBody({ item_id, text, question, attachments }: ShownItem): string {
  const prompt = question?.prompt === text ? undefined : question?.prompt;
  const options = question?.options ?? [];
  const showsOptionList = options.length > 0 &&
    (options.some(isLong) || !optionKeyboard(item_id, question));
  const lines = [
    text,
    ...(prompt ? ["", prompt] : []),
    ...(showsOptionList
      ? ["", ...options.map((option, index) => `${index + 1}. ${optionLabel(option)}`)]
      : []),
    ...(attachments.length > 0
      ? ["", `📎 ${attachments.length} attached: mesh inbox show ${item_id}`]
      : []),
  ];
  return cleanText(lines.join("\n"));
}

type Option = Question["options"][number];

function optionLabel({ id, title }: Option): string {
  return clean(title).trim() || clean(id);
}

function isLong(option: Option): boolean {
  return truncate(optionLabel(option), BUTTON_COLUMNS_MAX) !== optionLabel(option);
}

/** A tapped button: the index of a question's option, or undefined for "OK". */
export type Choice = { readonly item_id: string; readonly option: number | undefined };

function optionKeyboard(item_id: string, question: Question | null): Keyboard | undefined {
  if (!question || question.kind === "text") return undefined;
  const rows = question.options.map((
    option,
    index,
  ) => [toButton(optionLabel(option), `a:${index}:${item_id}`)]);
  if (question.kind === "acknowledge" && rows.length === 0) {
    rows.push([toButton("👌 OK", `k:${item_id}`)]);
  }
  const fits = rows.flat().every(({ callback_data }) =>
    new TextEncoder().encode(callback_data).length <= CALLBACK_BYTES_MAX
  );
  return rows.length > 0 && fits ? rows : undefined;
}

function toButton(label: string, callback_data: string) {
  return { text: truncate(label, BUTTON_COLUMNS_MAX), callback_data };
}

/** The single button that replaces all buttons after a tap. */
export function chosenKeyboard(label: string, item_id: string): Keyboard {
  return [[toButton(`✓ ${label}`, `d:${item_id}`)]];
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
