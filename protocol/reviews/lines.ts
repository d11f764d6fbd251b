/** Finds a commented line in the file as it is now. No I/O. */

import type { LineNow } from "protocol/reviews/contract.ts";

/** Maximum lines that a text may have moved by in a file with many equal lines. */
const SEARCHED_LINES_MAX = 100_000;

/** The place of a line's text now: its number counts from 1. Undefined lines cannot be read. */
export function lineNow(
  { line, text }: { readonly line: number; readonly text: string },
  lines: readonly string[] | undefined,
): LineNow {
  if (!lines) return { state: "unknown", line: null };
  if (lines[line - 1] === text) return { state: "here", line };
  // The nearest equal line: the one above wins over the one below.
  for (let away = 1; away <= SEARCHED_LINES_MAX && away <= lines.length + line; away++) {
    for (const at of [line - away, line + away]) {
      if (at >= 1 && lines[at - 1] === text) return { state: "moved", line: at };
    }
  }
  return { state: "gone", line: null };
}

/** A sentence on a commented line. */
export function lineWords({ state, line }: LineNow): string {
  switch (state) {
    case "here":
      return "the line is still there";
    case "moved":
      return `the line is now line ${line}`;
    case "gone":
      return "the line is no longer there";
    case "unknown":
      return "it is not known whether the line is still there";
  }
}
