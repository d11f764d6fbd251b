/** A text that is being typed: its cursor, and the effect of each key. */

import { cleanText } from "kit/core/text.ts";
import { displayWidth } from "../output/table.ts";
import type { Input } from "./keys.ts";
import type { Line } from "./lines.ts";

export interface TextField {
  readonly text: string;
  /** The index in `text` before which the next character is inserted. */
  readonly cursor: number;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

export function fieldOf(text: string): TextField {
  return { text, cursor: text.length };
}

/** The field after a key; undefined for a key that does not edit. */
export function edit(field: TextField, input: Input): TextField | undefined {
  const { text, cursor } = field;
  if (typeof input === "object") return insert(field, cleanText(input.pasted));
  // deno-fmt-ignore
  switch (input) {
    case "backspace": return remove(text, before(text, cursor), cursor);
    case "delete": return remove(text, cursor, after(text, cursor));
    case "ctrl-w": return remove(text, wordStart(text, cursor), cursor);
    case "ctrl-u": return remove(text, lineStart(text, cursor), cursor);
    case "ctrl-k": return remove(text, cursor, lineEnd(text, cursor));
    case "alt-enter": case "ctrl-j": return insert(field, "\n");
  }
  return move(field, input) ?? (isTyped(input) ? insert(field, cleanText(input)) : undefined);
}

function move({ text, cursor }: TextField, key: string): TextField | undefined {
  // deno-fmt-ignore
  switch (key) {
    case "left": case "ctrl-b": return { text, cursor: before(text, cursor) };
    case "right": case "ctrl-f": return { text, cursor: after(text, cursor) };
    case "home": case "ctrl-a": return { text, cursor: lineStart(text, cursor) };
    case "end": case "ctrl-e": return { text, cursor: lineEnd(text, cursor) };
    case "up": return { text, cursor: vertical(text, cursor, -1) };
    case "down": return { text, cursor: vertical(text, cursor, 1) };
    default: return undefined;
  }
}

/** A single character, and not the name of a key. */
const isTyped = (key: string) => Array.from(key).length === 1;

function insert({ text, cursor }: TextField, added: string): TextField {
  return {
    text: text.slice(0, cursor) + added + text.slice(cursor),
    cursor: cursor + added.length,
  };
}

function remove(text: string, from: number, to: number): TextField {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

function before(text: string, cursor: number): number {
  return [...graphemes.segment(text.slice(0, cursor))].at(-1)?.index ?? 0;
}

function after(text: string, cursor: number): number {
  const [next] = graphemes.segment(text.slice(cursor));
  return cursor + (next?.segment.length ?? 0);
}

function lineStart(text: string, cursor: number): number {
  return text.slice(0, cursor).lastIndexOf("\n") + 1;
}

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}

function wordStart(text: string, cursor: number): number {
  const words = text.slice(0, cursor).trimEnd();
  for (let at = words.length; at > 0; at--) if (/\s/.test(words[at - 1] ?? "")) return at;
  return 0;
}

/** The same place in the line above or below; the text's start or end if there is none. */
function vertical(text: string, cursor: number, by: -1 | 1): number {
  const start = lineStart(text, cursor);
  const offset = cursor - start;
  if (by < 0) {
    if (start === 0) return 0;
    const above = lineStart(text, start - 1);
    return Math.min(above + offset, start - 1);
  }
  const end = lineEnd(text, cursor);
  if (end === text.length) return text.length;
  return Math.min(end + 1 + offset, lineEnd(text, end + 1));
}

/** The rows of a field that is `columns` wide, and the position of its cursor. */
export function fieldRows(
  { text, cursor }: TextField,
  columns: number,
): { rows: Line[]; row: number; column: number } {
  const rows: string[] = [];
  let row = 0, column = 0, index = 0, current = "", width = 0;
  const mark = () => {
    if (index === cursor) [row, column] = [rows.length, width];
  };
  for (const { segment } of graphemes.segment(text)) {
    const added = segment === "\t" ? 1 : displayWidth(segment);
    if (segment !== "\n" && width + added > columns - 1) {
      rows.push(current);
      [current, width] = ["", 0];
    }
    mark();
    if (segment === "\n") {
      rows.push(current);
      [current, width] = ["", 0];
    } else {
      current += segment;
      width += added;
    }
    index += segment.length;
  }
  mark();
  rows.push(current);
  return { rows: rows.map((text) => [text]), row, column };
}
