/** Shows messages to a model: as data, between tags that no text can forge. */

import { cleanText, escapeMarkup, toDisplayName } from "kit/core/text.ts";
import { neutralizeMarks, tagAttributes } from "protocol/messages/frame_markers.ts";

/** Limit for all texts of one result, in characters. */
const ANSWER_CHARS_MAX = 24_000;
/** Characters of each text that are always shown, however many texts there are. */
const TEXT_CHARS_MIN = 500;

/** Removes control characters of a text, and changes all that looks like a line of mesh itself. */
export function printable(text: string): string {
  return neutralizeMarks(cleanText(text));
}

/**
 * A message between its tags (contract 5). `lines` are further tags inside the message, such as
 * those of its files, each on its own line. Attributes that are null are omitted.
 */
export function quote(
  attributes: Readonly<Record<string, string | null>>,
  text: string,
  lines: readonly string[] = [],
): string {
  const body = [escapeMarkup(printable(text)), ...lines.map(printable)].join("\n");
  return `<peer-message ${tagAttributes(attributes)}>${body}</peer-message>`;
}

/** A peer's name in an attribute. The name is cleaned, because peers choose their own names. */
export function nameTag(name: string | null | undefined): string {
  return `@${toDisplayName(name ?? "nobody")}`;
}

/** Number of characters shown of each text in a result with this many texts. */
export function charsPerText(texts: number): number {
  return Math.max(TEXT_CHARS_MIN, Math.floor(ANSWER_CHARS_MAX / Math.max(1, texts)));
}

/** The beginning of a text, and whether the text is longer. */
export function truncate(text: string, chars: number): { text: string; truncated: boolean } {
  if (text.length <= chars) return { text, truncated: false };
  const head = text.slice(0, chars).replace(/[\ud800-\udbff]$/, "");
  return { text: `${head}…`, truncated: true };
}
