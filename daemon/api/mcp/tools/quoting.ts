/** Shows messages to a model: as data, between tags that no text can forge. */

import { cleanText, escapeMarkup, toDisplayName } from "kit/core/text.ts";
import { neutralizeMarks, quotedAttribute } from "../../../features/messages/frame_markers.ts";

/** Limit for all texts of one result, in characters. */
const ANSWER_CHARS_MAX = 24_000;
/** The share that each text gets at least. */
const TEXT_CHARS_MIN = 500;

/** Text of others without control characters or anything that looks like our own lines. */
export function printable(text: string): string {
  return neutralizeMarks(cleanText(text));
}

/**
 * A message between its tags (contract 5). `lines` are its own tags, such as those of its files,
 * each on a line of its own. Attributes that are null are omitted.
 */
export function quote(
  attributes: Readonly<Record<string, string | null>>,
  text: string,
  lines: readonly string[] = [],
): string {
  const attributeText = Object.entries(attributes).flatMap(([name, value]) =>
    value === null ? [] : ` ${name}="${quotedAttribute(value)}"`
  );
  const body = lines.map((line) => `\n${printable(line)}`).join("");
  return `<peer-message${attributeText.join("")}>${
    escapeMarkup(printable(text))
  }${body}</peer-message>`;
}

/** The name in an attribute; peers choose their own names. */
export function nameTag(name: string | null | undefined): string {
  return `@${toDisplayName(name ?? "nobody")}`;
}

/** How many characters each of this many texts may have. */
export function charsPerText(texts: number): number {
  return Math.max(TEXT_CHARS_MIN, Math.floor(ANSWER_CHARS_MAX / Math.max(1, texts)));
}

/** The beginning of a text, and whether the text is longer. */
export function truncate(text: string, chars: number): { text: string; truncated: boolean } {
  if (text.length <= chars) return { text, truncated: false };
  const head = text.slice(0, chars).replace(/[\ud800-\udbff]$/, "");
  return { text: `${head}…`, truncated: true };
}
