/** Markdown of messages as styled lines: marks become styles, and lists get bullets. */

import { styled, type StyledText } from "./terminal.ts";
type Line = readonly StyledText[];

/** Code, bold, struck, links and emphasis, where CommonMark takes them as marks. */
const MARKS = new RegExp(
  [
    /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)/,
    /\*\*(?=\S)(?<bold>.+?)(?<=\S)\*\*/,
    /(?<!\w)__(?=\S)(?<strong>.+?)(?<=\S)__(?![\w.(])/,
    /~~(?=\S)(?<struck>.+?)(?<=\S)~~/,
    /!?\[(?<label>[^\]]+)\]\((?<url>[^()\s]+)\)/,
    /(?<![\w*])\*(?=[^\s*])(?<emphasis>[^*]*[^\s*])\*(?![\w*])/,
    /(?<!\w)_(?=[^\s_])(?<slanted>[^_]*[^\s_])_(?!\w)/,
  ].map(({ source }) => source).join("|"),
  "gu",
);

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^ {0,3}#{1,6} +(?<text>.*?)( +#+)?$/;
const BULLET = /^(?<indent>\s*)[-*+] +(?:\[(?<box>[ xX])\] +)?(?<text>\S.*)$/;
const QUOTE = /^ {0,3}> ?(?<text>.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;

/** A line of Markdown; the marks of a heading, a list or a quotation are shown plainly. */
export function markdownLine(line: string): StyledText[] {
  const heading = HEADING.exec(line)?.groups?.["text"];
  if (heading !== undefined) return spans(heading).map(toBold);
  if (RULE.test(line)) return [styled("dim", "───")];
  const { indent = "", box, text } = BULLET.exec(line)?.groups ?? {};
  if (text !== undefined) {
    const sign = box === undefined ? "•" : box === " " ? "☐" : "☑";
    return [`${indent}${sign} `, ...spans(text)];
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

function spans(text: string): StyledText[] {
  const parts: StyledText[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(...spanOf(match.groups ?? {}));
    end = match.index + match[0].length;
  }
  return end < text.length ? [...parts, text.slice(end)] : parts;
}

function spanOf(groups: Readonly<Record<string, string | undefined>>): StyledText[] {
  const { code, bold, strong, label, url, struck, emphasis, slanted } = groups;
  if (code !== undefined) return [styled("cyan", code)];
  const loud = bold ?? strong;
  if (loud !== undefined) return spans(loud).map(toBold);
  if (label !== undefined) return [...spans(label), styled("dim", ` (${url ?? ""})`)];
  return spans(struck ?? emphasis ?? slanted ?? "");
}

const toBold = (part: StyledText): StyledText =>
  typeof part === "string" ? styled("bold", part) : part;
