/**
 * Bounds the work that a text causes. The Markdown parser takes quadratic time for some texts, and
 * a short text can describe a table of millions of cells.
 */

import { lexer, type Token } from "marked";

/** Maximum characters of one text that are parsed; the rest is shown as it is. */
const PARSED_CHARS_MAX = 16_000;
/** Limits of the lines between two blank lines, in which the parser looks for pairs. */
const PARAGRAPH_CHARS_MAX = 4000;
const EMPHASIS_MAX = 120;
const BRACKETS_MAX = 300;
/** Maximum depth of lists and quotes on one line, and by indentation. */
const MARKERS_MAX = 10;
const INDENT_MAX = 40;
const COLUMNS_MAX = 40;
const CELLS_MAX = 2000;
/** Maximum parts of one text that become elements. */
const NODES_MAX = 3000;
/** The elements of a block of code without its colours. */
const CODE_NODES = 10;
/** Maximum characters of code in one text that have colours. */
const COLOURED_CHARS_MAX = 12_000;

export type Part =
  | { readonly type: "code"; readonly text: string; readonly language: string }
  | { readonly type: "parsed"; readonly tokens: readonly Token[] }
  | { readonly type: "plain"; readonly text: string };

interface Section {
  readonly lines: string[];
  /** Undefined outside of code. */
  readonly language?: string;
}

/** The parts of a text in its order: within the limits they are parsed. */
export function partsOf(text: string): readonly Part[] {
  let chars = PARSED_CHARS_MAX, nodes = NODES_MAX, coloured = COLOURED_CHARS_MAX;
  const parts = sectionsOf(text).map(({ lines, language }): Part => {
    const text = lines.join("\n");
    if (language !== undefined) {
      nodes -= CODE_NODES;
      if (language !== "") coloured -= text.length;
      if (nodes < 0) return { type: "plain", text };
      return { type: "code", text, language: coloured < 0 ? "" : language };
    }
    chars -= text.length;
    if (chars < 0 || isCostly(lines)) return { type: "plain", text };
    const tokens = tokensOf(text);
    nodes -= tokens ? countOf(tokens, nodes) : 0;
    return tokens && nodes >= 0 ? { type: "parsed", tokens } : { type: "plain", text };
  });
  return joinParts(parts);
}

/** Joins neighbouring plain parts: a text may have thousands of short paragraphs. */
function joinParts(parts: readonly Part[]): Part[] {
  const kept: (Part | string[])[] = [];
  for (const part of parts) {
    const last = kept.at(-1);
    if (part.type !== "plain") kept.push(part);
    else if (Array.isArray(last)) last.push(part.text);
    else kept.push([part.text]);
  }
  return kept.map((part) => Array.isArray(part) ? { type: "plain", text: part.join("\n") } : part);
}

function tokensOf(text: string): readonly Token[] | undefined {
  try {
    return lexer(text, { gfm: true, breaks: true });
  } catch {
    return undefined; // Nested too deep for the parser.
  }
}

/** A paragraph that continues no list and no quote. */
const BEGINS_BLOCK = /^[^\s>*+\-\d]/;

/**
 * Fenced code, which needs no parser and has no limits, and the blocks between it: each has limits
 * of its own.
 */
function sectionsOf(text: string): Section[] {
  const sections: Section[] = [];
  let open: { mark: string; indent: number } | undefined;
  let current: Section = { lines: [] };
  const close = (next: Section) => {
    if (current.lines.length > 0 || current.language !== undefined) sections.push(current);
    current = next;
  };
  for (const line of text.split(/\r\n?|\n/)) {
    const [fence = "", indent = "", mark = ""] = line.match(/^( {0,3})(`{3,}|~{3,})/) ?? [];
    const rest = line.slice(fence.length);
    const is_fence = mark !== "" && !(mark.startsWith("`") && rest.includes("`"));
    if (!open && is_fence) {
      open = { mark, indent: indent.length };
      close({ lines: [], language: rest.trim().split(/\s/, 1)[0] ?? "" });
    } else if (open && is_fence && rest.trim() === "" && mark.startsWith(open.mark)) {
      open = undefined;
      close({ lines: [] });
    } else {
      const ends_block = !open && current.lines.at(-1)?.trim() === "" && BEGINS_BLOCK.test(line);
      if (ends_block) close({ lines: [] });
      current.lines.push(open ? line.slice(Math.min(open.indent, line.search(/[^ ]|$/))) : line);
    }
  }
  close({ lines: [] });
  return sections;
}

/** True if the parser could take long, or the result could be large. */
function isCostly(lines: readonly string[]): boolean {
  const paragraph = { chars: 0, emphasis: 0, brackets: 0 };
  let columns = 1;
  for (const line of lines) {
    if (line.trim() === "") Object.assign(paragraph, { chars: 0, emphasis: 0, brackets: 0 });
    paragraph.chars += line.length + 1;
    paragraph.emphasis += count(line, /[*_~]/g);
    paragraph.brackets += count(line, /[[\]<`\\&@]|www\.|:\/\//g);
    columns = Math.max(columns, count(line, /\|/g) + 1);
    if (
      paragraph.chars > PARAGRAPH_CHARS_MAX || paragraph.emphasis > EMPHASIS_MAX ||
      paragraph.brackets > BRACKETS_MAX || depthOf(line) > MARKERS_MAX
    ) return true;
  }
  return columns > COLUMNS_MAX || (columns > 1 && columns * lines.length > CELLS_MAX);
}

function count(line: string, pattern: RegExp): number {
  return line.match(pattern)?.length ?? 0;
}

/** The number of quotes and lists that a line may open; infinite if it is indented too far. */
function depthOf(line: string): number {
  const start = /^[\s>*+\-\d.)]*/.exec(line)?.[0] ?? "";
  const spaces = start.length - start.trimStart().length;
  if (spaces > INDENT_MAX) return Infinity;
  return count(start, />|[*+\-.)](?=\s)/g);
}

/** The number of tokens, counted as far as the limit. */
function countOf(tokens: readonly Token[], limit: number): number {
  let found = 0;
  const rest: unknown[] = [tokens];
  while (rest.length > 0 && found <= limit) {
    const next = rest.pop();
    if (Array.isArray(next)) {
      for (const token of next) rest.push(token);
    } else if (typeof next === "object" && next !== null) {
      found++;
      if ("tokens" in next) rest.push(next.tokens);
      if ("items" in next) rest.push(next.items);
      if ("header" in next) rest.push(next.header);
      if ("rows" in next) rest.push(next.rows);
    }
  }
  return found;
}
