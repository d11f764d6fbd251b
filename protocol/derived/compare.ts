/** Compares two versions of a file. No I/O. */

import { diffArrays } from "diff";
import { countLines, type FileDiff, type Hunk } from "protocol/derived/diff.ts";

const CONTEXT_LINES = 3;
/** Limits the search for common lines, whose time grows with the square of the edits. */
const EDITS_MAX = 2000;
export const NO_LINE_END = "\\ No newline at end of file";

/** The hunks of a change. A line keeps every character before its `\n`, so also a `\r`. */
export function hunksOf(before: string, after: string): Hunk[] {
  if (before === after) return [];
  const edits = editsOf(toLines(before), toLines(after));
  const changed = edits.flatMap((line, at) => line.startsWith(" ") ? [] : [at]);
  const hunks: Hunk[] = [];
  let [old, fresh, at] = [1, 1, 0];
  const skipTo = (end: number) => {
    for (; at < end; at++) {
      const sign = edits[at]?.charAt(0);
      if (sign === " " || sign === "-") old++;
      if (sign === " " || sign === "+") fresh++;
    }
  };
  for (let first = 0; first < changed.length;) {
    let last = first;
    const gap = () => (changed[last + 1] ?? Infinity) - (changed[last] ?? 0) - 1;
    while (gap() <= 2 * CONTEXT_LINES) last++;
    skipTo(Math.max(at, (changed[first] ?? 0) - CONTEXT_LINES));
    const end = Math.min(edits.length, (changed[last] ?? 0) + 1 + CONTEXT_LINES);
    hunks.push({ old_start: old, new_start: fresh, lines: edits.slice(at, end) });
    skipTo(end);
    first = last + 1;
  }
  return hunks;
}

/** The changes of one file, from its whole text before and after. */
export function fileDiff(path: string, before: string, after: string): FileDiff {
  const hunks = hunksOf(before, after);
  return { path, added: countLines(hunks, "+"), removed: countLines(hunks, "-"), hunks };
}

/** All lines of both versions with their signs. Versions with too little in common share none. */
function editsOf(before: string[], after: string[]): string[] {
  const parts = diffArrays(before, after, { maxEditLength: EDITS_MAX }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  return parts.flatMap(({ added, removed, value }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value.flatMap((line) =>
      line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, NO_LINE_END]
    );
  });
}

/** The lines of a text with their `\n`. */
function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
