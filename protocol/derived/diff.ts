/** The changes of a file: hunks of lines, with their numbers. No I/O. */

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
