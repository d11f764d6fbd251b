/** Markdown of messages as styled lines: marks become styles, and lists get bullets. */

import { styled, type StyledText } from "./terminal.ts";

type Line = readonly StyledText[];

/** In longer lines, marks are left as they are: finding them takes time that grows faster. */
const LINE_CHARS_MAX = 2_000;

const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^ {0,3}#{1,6} (?<text>.*)$/;
const BULLET = /^(?<indent>\s*)[-*+] (?:\[(?<box>[ xX])\] )?(?<text>.*)$/;
const QUOTE = /^ {0,3}> ?(?<text>.*)$/;
const RULE = /^(?:-{3,}|\*{3,}|_{3,})$/;

/** Characters that a backslash before them keeps from being marks. */
const ESCAPED = /[\\`*_[\]<>~|#!()]/;

/** A line of Markdown; the marks of a heading, a list or a quotation are shown plainly. */
export function markdownLine(line: string): StyledText[] {
  if (line.length > LINE_CHARS_MAX) return [line];
  if (RULE.test(line.replaceAll(" ", ""))) return [styled("dim", "───")];
  const heading = HEADING.exec(line)?.groups?.["text"];
  if (heading !== undefined) return spans(heading.trim()).map(toBold);
  const { indent = "", box, text = "" } = BULLET.exec(line)?.groups ?? {};
  if (text.trim() !== "") {
    const sign = box === undefined ? "•" : box === " " ? "☐" : "☑";
    return [`${indent}${sign} `, ...spans(text.trim())];
  }
  const quoted = QUOTE.exec(line)?.groups?.["text"];
  return quoted === undefined ? spans(line) : [styled("dim", "│ "), ...spans(quoted)];
}

/** A text of Markdown, line by line. Code blocks keep their text, without the fences. */
export function markdownLines(text: string): Line[] {
  let isCode = false;
  return text.split(/\r\n|[\n\r]/).flatMap((line): Line[] => {
    if (FENCE.test(line)) {
      isCode = !isCode;
      return [];
    }
    return [isCode ? [styled("cyan", `  ${line}`)] : markdownLine(line)];
  });
}

interface Span {
  readonly parts: readonly StyledText[];
  /** The index after its last mark. */
  readonly end: number;
}

function spans(text: string): StyledText[] {
  const parts: StyledText[] = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    if (text[at] === "\\" && ESCAPED.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const span = codeAt(text, at) ?? linkAt(text, at) ?? emphasisAt(text, at);
    if (!span) {
      plain += text[at++];
      continue;
    }
    if (plain !== "") parts.push(plain);
    plain = "";
    parts.push(...span.parts);
    at = span.end;
  }
  return plain === "" ? parts : [...parts, plain];
}

function codeAt(text: string, at: number): Span | undefined {
  if (text[at] !== "`") return undefined;
  let start = at;
  while (text[start] === "`") start++;
  const ticks = text.slice(at, start);
  const end = text.indexOf(ticks, start);
  if (end < 0) return undefined;
  return { parts: [styled("cyan", text.slice(start, end))], end: end + ticks.length };
}

function linkAt(text: string, at: number): Span | undefined {
  const start = text.startsWith("![", at) ? at + 1 : at;
  if (text[start] !== "[") return undefined;
  const close = text.indexOf("](", start), end = text.indexOf(")", close);
  if (close <= start + 1 || end < 0) return undefined;
  const label = text.slice(start + 1, close), url = text.slice(close + 2, end);
  if (/[[\]]/.test(label) || /\s/.test(url)) return undefined;
  return { parts: [...spans(label), styled("dim", ` (${url})`)], end: end + 1 };
}

/** Longer marks first. */
const EMPHASIS = ["**", "__", "~~", "*", "_"] as const;

/** Emphasis stands at the edges of words, so that `a*b*c` and `snake_case` have none. */
function emphasisAt(text: string, at: number): Span | undefined {
  const mark = EMPHASIS.find((mark) => text.startsWith(mark, at));
  if (mark === undefined) return undefined;
  const start = at + mark.length, close = text.indexOf(mark, start);
  const inner = text.slice(start, close), end = close + mark.length;
  const isWhole = close > start && inner.trim() === inner && !inner.startsWith(mark);
  // A name such as `__init__.py` is no emphasis, either.
  const after = mark === "__" ? /[\w*.(]/ : /[\w*]/;
  const isApart = mark === "**" || mark === "~~" ||
    (!/[\w*]/.test(text[at - 1] ?? "") && !after.test(text[end] ?? ""));
  if (!isWhole || !isApart) return undefined;
  const parts = spans(inner);
  return { parts: mark === "**" || mark === "__" ? parts.map(toBold) : parts, end };
}

const toBold = (part: StyledText): StyledText =>
  typeof part === "string" ? styled("bold", part) : part;
