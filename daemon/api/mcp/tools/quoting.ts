/** How the words of others are told to a model: as data, between tags that no text can forge. */

import { cleanText, escapeMarkup, toDisplayName } from "kit/core/text.ts";
import { neutralizeMarks, quotedAttribute } from "../../../features/messages/frame_markers.ts";

/** What the texts of one answer take together, in characters: a model has to read them all. */
const ANSWER_CHARS_MAX = 24_000;
/** What each may take, however many they are. */
const TEXT_CHARS_MIN = 500;

/** What others wrote, for a model: nothing in it steers, hides, or begins as a line of ours. */
export function printable(text: string): string {
  return neutralizeMarks(cleanText(text));
}

/**
 * A message between its tags (contract 5). `lines` are tags of its own, such as those of its files,
 * and stand on lines of their own within it. An attribute that is null is left out.
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

/** Who is named in an attribute: anybody may have chosen the name. */
export function nameTag(name: string | null | undefined): string {
  return `@${toDisplayName(name ?? "nobody")}`;
}

/** How many characters each of so many texts may have. */
export function charsPerText(texts: number): number {
  return Math.max(TEXT_CHARS_MIN, Math.floor(ANSWER_CHARS_MAX / Math.max(1, texts)));
}

/** The beginning of a text, and whether that is less than all of it. */
export function truncate(text: string, chars: number): { text: string; truncated: boolean } {
  if (text.length <= chars) return { text, truncated: false };
  const head = text.slice(0, chars).replace(/[\ud800-\udbff]$/, "");
  return { text: `${head}…`, truncated: true };
}
