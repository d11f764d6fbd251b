/** How an inbox item looks in a chat: plain text in messages of 4096 units, and its buttons. */

import * as z from "zod";
import { InboxItem, Push } from "../../../daemon/features/inbox/contract.ts";
import { cleanText } from "kit/core/text.ts";
import { clean } from "../../output/print.ts";
import { fit } from "../../output/table.ts";
import type { Keyboard } from "./bot_api.ts";

/** The name of this surface, in `/ws`, in pushes and in replies. */
export const SURFACE = "telegram";

/** The most that one message holds, in UTF-16 units. */
export const MESSAGE_UNITS_MAX = 4096;
/** Room for ` (1000/1000):` after the head of each part of a long item. */
const COUNT_UNITS = 16;
const NAME_COLUMNS_MAX = 64;
const BUTTON_COLUMNS_MAX = 48;
const SUMMARY_COLUMNS_MAX = 120;
const CALLBACK_BYTES_MAX = 64;

/** Of an inbox item, what is shown here. */
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
  /** One message each, in order. */
  readonly texts: readonly string[];
  /** Under the last message. */
  readonly keyboard: Keyboard | undefined;
}

/**
 * The messages of an item. Each begins with who speaks: what follows is whatever an agent wrote,
 * and could pose as another's message otherwise.
 */
export function renderItem(item: ShownItem): Rendering {
  const { item_id, question } = item;
  const head = headOf(item), body = bodyOf(item);
  const keyboard = question ? keyboardOf(item_id, question) : undefined;
  const whole = `${head}:\n${body}`;
  if (whole.length <= MESSAGE_UNITS_MAX) return { texts: [whole], keyboard };
  const parts = split(body, MESSAGE_UNITS_MAX - head.length - COUNT_UNITS);
  const texts = parts.map((part, at) => `${head} (${at + 1}/${parts.length}):\n${part}`);
  return { texts, keyboard };
}

/** Stands for a message that may have arrived, and is not sent again for that. */
export function renderDoubt(item: ShownItem): string {
  return `${headOf(item)}, but I cannot tell whether the message arrived. ` +
    `If you do not see it above: /show ${item.item_id}`;
}

/** One line of a list. */
export function summaryOf(
  { item_id, kind, from, text }: Pick<ShownItem, "item_id" | "kind" | "from" | "text">,
): string {
  return `${headOf({ kind, from })}: ${fit(clean(text), SUMMARY_COLUMNS_MAX)}\n/show ${item_id}`;
}

/**
 * Parts of at most `most` units: cut at the end of a line where one is near, else between words,
 * else anywhere but inside a character.
 */
export function split(text: string, most: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > most) {
    const at = cutOf(rest, most);
    parts.push(rest.slice(0, at));
    // The one space or line end that we cut at is what the gap between messages says.
    rest = rest.slice(/\s/.test(rest[at] ?? "") ? at + 1 : at);
  }
  return rest === "" ? parts : [...parts, rest];
}

function cutOf(text: string, most: number): number {
  const line = text.lastIndexOf("\n", most);
  if (line >= most / 2) return line;
  const word = Math.max(text.lastIndexOf(" ", most), text.lastIndexOf("\t", most));
  if (word >= most / 2) return word;
  return isInsidePair(text, most) ? most - 1 : most;
}

function isInsidePair(text: string, at: number): boolean {
  return /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "");
}

type Headed = Pick<ShownItem, "kind" | "from"> & Partial<ShownItem>;

function headOf({ kind, from, question, pushes = [] }: Headed): string {
  const who = fit(clean(from), NAME_COLUMNS_MAX);
  const again = pushes.some(mayBeHere) ? " (again)" : "";
  if (kind === "notify") return `💬 ${who} says${again}`;
  const permission = question?.scope === "tool_permission";
  return permission ? `🔐 ${who} asks for permission${again}` : `❓ ${who} asks${again}`;
}

/** An earlier push left something of the item in the chat, or may have. */
function mayBeHere({ surface, surface_refs, error_class }: ShownItem["pushes"][number]): boolean {
  return surface === SURFACE && (surface_refs.length > 0 || error_class === "unclear");
}

function bodyOf({ item_id, text, question, attachments }: ShownItem): string {
  const prompt = question?.prompt === text ? undefined : question?.prompt;
  const options = question?.options ?? [];
  const listed = options.length > 0 && (options.some(isLong) || !keyboardOf(item_id, question));
  const lines = [
    text,
    ...(prompt ? ["", prompt] : []),
    ...(listed ? ["", ...options.map((option, at) => `${at + 1}. ${labelOf(option)}`)] : []),
    ...(attachments.length > 0
      ? ["", `📎 ${attachments.length} attached: mesh inbox show ${item_id}`]
      : []),
  ];
  return cleanText(lines.join("\n"));
}

type Option = Question["options"][number];

function labelOf({ id, title }: Option): string {
  return clean(title).trim() || clean(id);
}

function isLong(option: Option): boolean {
  return fit(labelOf(option), BUTTON_COLUMNS_MAX) !== labelOf(option);
}

/** What a tapped button says: the option of a question by its place, or a bare yes. */
export type Choice = { readonly item_id: string; readonly option: number | undefined };

function keyboardOf(item_id: string, question: Question | null): Keyboard | undefined {
  if (!question || question.kind === "text") return undefined;
  const rows = question.options.map((
    option,
    at,
  ) => [buttonOf(labelOf(option), `a:${at}:${item_id}`)]);
  if (question.kind === "acknowledge" && rows.length === 0) {
    rows.push([buttonOf("👌 OK", `k:${item_id}`)]);
  }
  const fits = rows.flat().every(({ callback_data }) =>
    new TextEncoder().encode(callback_data).length <= CALLBACK_BYTES_MAX
  );
  return rows.length > 0 && fits ? rows : undefined;
}

function buttonOf(label: string, callback_data: string) {
  return { text: fit(label, BUTTON_COLUMNS_MAX), callback_data };
}

/** What stands in place of the buttons once one was tapped. */
export function chosenKeyboard(label: string, item_id: string): Keyboard {
  return [[buttonOf(`✓ ${label}`, `d:${item_id}`)]];
}

/** Undefined for a button that means nothing any more. */
export function choiceOf(data: string): Choice | undefined {
  const [, at, item_id] = /^(?:a:(\d{1,2})|k):(.+)$/.exec(data) ?? [];
  return item_id === undefined ? undefined : { item_id, option: at ? Number(at) : undefined };
}

export function optionOf(
  question: Question | null,
  at: number,
): (Option & { label: string }) | undefined {
  const option = question?.options[at];
  return option && { ...option, label: labelOf(option) };
}
