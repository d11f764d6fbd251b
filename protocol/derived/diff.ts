/** The difference of two versions of a file: hunks of lines, with their numbers. No I/O. */

import { diffArrays } from "diff";

/** A part of a file in which lines change, with lines around them. */
export interface Hunk {
  /** Number of the first line before and after; null if it is not known. */
  readonly old_start: number | null;
  readonly new_start: number | null;
  /** Each line begins with its sign: a space, `+`, `-`, or `\` for a remark on the line above. */
  readonly lines: readonly string[];
}

/** The changes of one file. */
export interface FileDiff {
  readonly path: string;
  /** The path before, if it changes too. */
  readonly old_path?: string | undefined;
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  /** A remark, such as why lines have no numbers. */
  readonly note?: string | undefined;
}

/** A line of a hunk as it is shown. */
export interface DiffLine {
  readonly sign: string;
  readonly text: string;
  readonly old: number | null;
  readonly new: number | null;
}

const CONTEXT_LINES = 3;
/** Limits the search for common lines, whose time grows with the square of the edits. */
const EDITS_MAX = 2000;
const NO_LINE_END = "\\ No newline at end of file";

/** The lines of a hunk with their numbers. */
export function numberLines({ old_start, new_start, lines }: Hunk): DiffLine[] {
  let [old, fresh] = [old_start, new_start];
  return lines.map((line) => {
    const sign = line.charAt(0), text = line.slice(1);
    const isOld = sign === " " || sign === "-", isNew = sign === " " || sign === "+";
    const numbers = { old: isOld ? old : null, new: isNew ? fresh : null };
    if (isOld && old !== null) old++;
    if (isNew && fresh !== null) fresh++;
    return { sign, text, ...numbers };
  });
}

/** The number of lines that begin with a sign. */
export function countLines(hunks: readonly Hunk[], sign: "+" | "-"): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter((l) => l.startsWith(sign)).length, 0);
}

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

/** The header of a hunk, such as `@@ -1,3 +1,4 @@ function`. */
const HUNK = /^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/**
 * The files of a unified diff, as `git diff` prints it. Lines outside of hunks name the files, or
 * are not read. The counts of a hunk's header say where it ends, so a line of a file that looks
 * like a header is a line.
 */
export function readUnifiedDiff(text: string): FileDiff[] {
  const files: { path: string; old_path?: string; hunks: Hunk[] }[] = [];
  let hunk: { lines: string[] } | undefined, old = 0, fresh = 0, before = "";
  for (const line of text.split("\n")) {
    const sign = line.charAt(0) || " ";
    if (hunk && (old > 0 || fresh > 0 || sign === "\\")) {
      hunk.lines.push(line || " ");
      if (sign === " " || sign === "-") old--;
      if (sign === " " || sign === "+") fresh--;
      continue;
    }
    const [header, old_start, old_count = "1", new_start, new_count = "1"] = HUNK.exec(line) ?? [];
    if (header !== undefined) {
      const lines: string[] = [];
      hunk = { lines };
      [old, fresh] = [Number(old_count), Number(new_count)];
      files.at(-1)?.hunks.push({
        old_start: Number(old_start),
        new_start: Number(new_start),
        lines,
      });
      continue;
    }
    hunk = undefined;
    if (line.startsWith("--- ")) before = pathOf(line);
    if (line.startsWith("+++ ")) files.push({ ...pathsOf(before, pathOf(line)), hunks: [] });
  }
  return files.map((file) => ({
    ...file,
    added: countLines(file.hunks, "+"),
    removed: countLines(file.hunks, "-"),
  }));
}

const NOTHING = "/dev/null";

/** The path of a line `--- a/path` or `+++ b/path`. git quotes a path with special characters. */
function pathOf(line: string): string {
  const quoted = /^(?:---|\+\+\+) "(?:[ab]\/)?(.*)"\t?$/.exec(line)?.[1];
  return quoted ?? (line.slice(4).split("\t", 1)[0] ?? "").replace(/^[ab]\//, "");
}

function pathsOf(before: string, after: string): { path: string; old_path?: string } {
  if (after === NOTHING) return { path: before };
  return before === NOTHING || before === after
    ? { path: after }
    : { path: after, old_path: before };
}
