/** Parses the output of `git diff`, and shows its text safely: masked, bounded, nothing hidden. */

import { showHidden } from "kit/core/hidden.ts";
import { MASK, maskSecrets } from "../../agents/sessions/secrets.ts";
import type { ChangedFile } from "protocol/changes.ts";

export type Hunk = NonNullable<ChangedFile["hunks"]>[number];

/** A file of `git diff --raw --numstat -z`. */
export interface ListedFile {
  readonly path: string;
  readonly old_path: string | null;
  /** git's letter: A, M, D, R, C, T or U. */
  readonly letter: string;
  readonly isSubmodule: boolean;
  /** git's mode and the ids of its content before and after; zeros where git has not read it. */
  readonly mode: string;
  readonly before_id: string;
  readonly after_id: string;
  /** Null for a binary file. */
  readonly added: number | null;
  readonly removed: number | null;
}

const SUBMODULE_MODE = "160000";

/** The files of `git diff --raw --numstat -z`, as far as the output goes. */
export function listedFiles(text: string): ListedFile[] {
  const fields = text.split("\0");
  const listed = new Map<string, Omit<ListedFile, "added" | "removed">>();
  const counts = new Map<string, readonly [added: number | null, removed: number | null]>();
  for (let at = 0; at + 1 < fields.length; at++) {
    const field = fields[at] ?? "";
    const raw = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*$/.exec(field);
    if (raw) {
      const [, before, mode = "", before_id = "", after_id = "", letter = ""] = raw;
      const isMoved = letter === "R" || letter === "C";
      const old_path = isMoved ? fields[++at] ?? "" : null;
      const path = fields[++at] ?? "";
      const isSubmodule = before === SUBMODULE_MODE || mode === SUBMODULE_MODE;
      // An unmerged file may have a second line, on its content in the folder.
      listed.set(path, { path, old_path, letter, isSubmodule, mode, before_id, after_id });
      continue;
    }
    const [, added = "", removed = "", name = ""] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(field) ?? [];
    if (added === "") continue;
    // The name of a moved file is two fields.
    const path = name === "" ? fields[at += 2] ?? "" : name;
    counts.set(path, [toCount(added), toCount(removed)]);
  }
  return Array.from(listed.values(), (file) => {
    const [added = null, removed = null] = counts.get(file.path) ?? [];
    return { ...file, added, removed };
  });
}

function toCount(text: string): number | null {
  return text === "-" ? null : Number(text);
}

/** The names of `git status --porcelain=v1 -z`, each with git's two letters. */
export function statusOf(text: string): Map<string, string> {
  const names = text.split("\0").slice(0, -1);
  return new Map(names.map((name) => [name.slice(3), name.slice(0, 2)]));
}

/**
 * The hunks of each file of `git diff -p`, by the file's path. git quotes names, and begins each
 * line of a file with a sign, so no name and no line of a file can look like a header.
 */
export function hunksByPath(text: string): Map<string, Hunk[]> {
  const found = new Map<string, Hunk[]>();
  for (const section of text.split(/^diff --git /m).slice(1)) {
    const lines = section.split("\n");
    const start = lines.findIndex((line) => line.startsWith("@@ "));
    if (start < 0) continue;
    const path = pathIn(lines.slice(0, start));
    if (path === undefined) continue;
    const hunks = found.get(path) ?? [];
    found.set(path, hunks);
    for (const line of lines.slice(start)) {
      const [, old_start, new_start] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
      if (old_start !== undefined) {
        hunks.push({ old_start: Number(old_start), new_start: Number(new_start), lines: [] });
      } else if (/^[ +\-\\]/.test(line)) hunks.at(-1)?.lines.push(line);
    }
  }
  return found;
}

/** The path in the header: that of the new file, or of a deleted one. */
function pathIn(header: readonly string[]): string | undefined {
  const nameOf = (prefix: string) => {
    const name = header.find((line) => line.startsWith(prefix))?.slice(prefix.length);
    return name === undefined ? undefined : unquote(name.replace(/\t$/, ""));
  };
  const after = nameOf("+++ ");
  return (after === "/dev/null" ? nameOf("--- ") : after)?.slice("a/".length);
}

// deno-fmt-ignore
const ESCAPES: Readonly<Record<string, number>> = {
  a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92,
};

/** A name as git writes it; a name with special characters is quoted as in C. */
function unquote(name: string): string {
  if (!name.startsWith('"')) return name;
  const parts = name.slice(1, -1).match(/\\[0-7]{3}|\\.|[^\\]+/g) ?? [];
  const encoder = new TextEncoder();
  const bytes = parts.flatMap((part) => {
    if (!part.startsWith("\\")) return [...encoder.encode(part)];
    const code = part.slice(1);
    return [ESCAPES[code] ?? Number.parseInt(code, 8)];
  });
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/** Maximum characters of a line that are shown. */
const LINE_CHARS_MAX = 2_000;
/** Characters of a line that are searched for secrets: a secret may be cut off at its end. */
const SEARCHED_CHARS_MAX = 4 * LINE_CHARS_MAX;

/** The room that is left in an answer. */
export class Budget {
  bytes: number;
  masked = 0;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

interface ShownHunks {
  readonly hunks: Hunk[];
  readonly cut: boolean;
}

/** The lines of a file that fit, with secrets masked. */
export function shownHunks(
  hunks: readonly Hunk[],
  { secrets, lines_max, budget }: {
    readonly secrets: readonly string[];
    readonly lines_max: number;
    readonly budget: Budget;
  },
): ShownHunks {
  const shown: Hunk[] = [];
  let left = lines_max, cut = false;
  for (const hunk of hunks) {
    const isInKey = keyLines(hunk.lines);
    const lines: string[] = [];
    for (const [at, line] of hunk.lines.entries()) {
      if (left <= 0 || budget.bytes <= 0) break;
      const { text, masked } = isInKey.has(at)
        ? { text: MASK, masked: 1 }
        : maskSecrets(line.slice(1, SEARCHED_CHARS_MAX), secrets);
      const visible = showHidden(text);
      const isLong = visible.length > LINE_CHARS_MAX || line.length > SEARCHED_CHARS_MAX;
      const shownLine = line.charAt(0) + visible.slice(0, LINE_CHARS_MAX).toWellFormed() +
        (isLong ? "…" : "");
      cut ||= isLong;
      budget.masked += masked;
      budget.bytes -= JSON.stringify(shownLine).length * 2;
      left--;
      lines.push(shownLine);
    }
    cut ||= lines.length < hunk.lines.length;
    if (lines.length > 0) shown.push({ ...hunk, lines });
  }
  return { hunks: shown, cut };
}

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/;
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/;
/** Matches a whole line of a key, of which a hunk may show no beginning and no end. */
const KEY_LINE = /^[ +-]\s*[A-Za-z0-9+/]{60,76}\s*$/;

/**
 * The lines that belong to a private key of several lines: between its first and its last line, up
 * to the last line of a key that began before the hunk, and lines in the form of its middle.
 */
function keyLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  let isWithin = false;
  for (const [at, line] of lines.entries()) {
    if (KEY_BEGIN.test(line)) isWithin = true;
    if (isWithin || KEY_LINE.test(line)) found.add(at);
    if (!KEY_END.test(line)) continue;
    if (!isWithin) { for (let before = 0; before <= at; before++) found.add(before); }
    isWithin = false;
  }
  return found;
}
