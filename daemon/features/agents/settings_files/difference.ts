/** The difference of two versions of a settings file, without the values of other programs. */

import { diffArrays } from "diff";
import type { Argv } from "./shell_words.ts";

/** Limits the search for common lines, whose time grows with the square of the edits. */
const EDITS_MAX = 2000;
const MASK = "…";

/** The values in a settings file that belong to us. */
interface OwnValues {
  /** The text of a file that holds only them. */
  readonly own: string;
  /** Our commands in the file. A value that is a word of one, or has all its words, is ours. */
  readonly commands: readonly Argv[];
}

/**
 * The path, then the removed (`-`) and added (`+`) lines. It has no context lines, and no values of
 * other programs in changed lines, because they may be secrets: a file may have one line only.
 * Default of `ours`: the whole file.
 */
export function formatDiff(path: string, before: string, after: string, ours?: OwnValues): string {
  if (before === after) return "";
  const edits = diffLines(lines(before), lines(after));
  const shown = ours ? maskValues(edits, ours) : edits;
  return [path, ...(edits.length === 0 ? ["(only the layout changes)"] : shown)].join("\n");
}

function lines(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

/** The lines that differ; all lines of both files if they have too little in common. */
function diffLines(before: string[], after: string[]): string[] {
  const parts = diffArrays(before, after, { maxEditLength: EDITS_MAX }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  return parts.filter(({ removed, added }) => removed || added)
    .flatMap(({ added, value }) => value.map((line) => `${added ? "+" : "-"} ${line}`));
}

/** Strings, comments and bare words of JSON, JSON with comments and TOML. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"?|'[^']*'?|\/\/.*|\/\*(?:[^*\n]|\*(?!\/))*(?:\*\/)?|#.*|[^\s{}[\],:="'#/]+|\/(?![/*])/g;
/** The header of a TOML table. */
const HEADER = /^[-+] \s*\[+[\w.-]+\]+\s*$/;

/** Masks each value that is not ours. The names of members stay. */
function maskValues(edits: readonly string[], { own, commands }: OwnValues): string[] {
  const words = commands.flat().map((word) => JSON.stringify(word));
  const known = new Set([...own.match(TOKEN) ?? [], ...words]);
  const withPath = commands.filter((argv) => argv.some((word) => word.startsWith("/")));
  const isOurs = (token: string) =>
    known.has(token) || withPath.some((argv) => argv.every((word) => token.includes(word)));
  return edits.map((line) => {
    if (HEADER.test(line)) return line;
    const sign = line.slice(0, 2), text = line.slice(2);
    return sign + text.replaceAll(TOKEN, (token: string, at: number) => {
      const isName = /^\s*[:=]/.test(text.slice(at + token.length));
      if (isName || isOurs(token)) return token;
      return /^["']/.test(token) ? `"${MASK}"` : MASK;
    });
  });
}
