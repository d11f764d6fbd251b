/** Finds the files of a folder that match a pattern and were modified in a span of time. */

import { join } from "kit/core/path.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** Maximum number of entries of folders that one scan reads. */
export const ENTRIES_MAX = 20_000;
/** Folders that hold no work of an agent, and very many files. */
const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules"]);

export interface Edit {
  /** The path in the folder. */
  readonly path: string;
  readonly modified_at: number;
}

interface Found {
  readonly edits: readonly Edit[];
  /** False if the folder holds more entries than one scan reads. */
  readonly is_complete: boolean;
}

/** Modified after `since`, and not after `until`. Follows no symbolic link. */
export async function editsIn(
  folder: string,
  glob: string,
  { since, until }: { readonly since: number; readonly until: number },
): Promise<Found> {
  const edits: Edit[] = [];
  const is_complete = await eachFile(folder, [glob], (path) => {
    const file = unlessMissing(() => Deno.lstatSync(join(folder, ...path)));
    const modified_at = file?.mtime?.getTime();
    if (modified_at === undefined || modified_at <= since || modified_at > until) return;
    edits.push({ path: path.join("/"), modified_at });
  });
  return { edits, is_complete };
}

/**
 * Calls `visit` for each file that matches a pattern, by the parts of its path. Follows no symbolic
 * link. Returns false if the folder holds more entries than one scan reads.
 */
export async function eachFile(
  folder: string,
  globs: readonly string[],
  visit: (path: readonly string[]) => void,
): Promise<boolean> {
  const split = globs.map(splitGlob);
  const depth_max = Math.max(...split.map((glob) => glob.depth_max));
  const everywhere = split.find(({ fixed }) => fixed.length === 0);
  const folders = (everywhere ? [everywhere] : split).map(({ fixed }) => fixed);
  let entries = 0;
  for (let parents = folders.pop(); parents; parents = folders.pop()) {
    for await (const { name, isDirectory, isFile } of entriesOf(join(folder, ...parents))) {
      entries += 1;
      if (entries > ENTRIES_MAX) return false;
      const path = [...parents, name];
      if (isDirectory && !SKIPPED.has(name) && path.length < depth_max) folders.push(path);
      if (isFile && split.some(({ pattern }) => matchesGlob(pattern, path))) visit(path);
    }
  }
  return true;
}

/** The entries of a folder; empty if it does not exist yet. */
async function* entriesOf(folder: string): AsyncIterable<Deno.DirEntry> {
  try {
    yield* Deno.readDir(folder);
  } catch (error) {
    const isAbsent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory ||
      error instanceof Deno.errors.PermissionDenied;
    if (!isAbsent) throw error;
  }
}

/** A pattern in parts, and the facts that a search of folders needs. */
interface SplitGlob {
  readonly pattern: readonly string[];
  /** The folders at its beginning that hold no wildcard: only they are searched. */
  readonly fixed: readonly string[];
  /** Maximum number of parts of a matching path. */
  readonly depth_max: number;
}

export function splitGlob(glob: string): SplitGlob {
  const pattern = glob.split("/");
  const wild = pattern.findIndex((part) => /[*?]/.test(part));
  const fixed = pattern.slice(
    0,
    wild < 0 ? pattern.length - 1 : Math.min(wild, pattern.length - 1),
  );
  const depth_max = pattern.includes("**") ? Infinity : pattern.length;
  return { pattern, fixed, depth_max };
}

/**
 * True if a path matches: `*` and `?` within a name, `**` for any number of folders. Pattern and path
 * are split into their parts. The time is bounded by the product of the lengths, so that a hostile
 * pattern costs no more.
 */
export function matchesGlob(pattern: readonly string[], path: readonly string[]): boolean {
  return matches(pattern, path, "**", matchesName);
}

function matchesName(pattern: string, name: string): boolean {
  return matches(
    [...pattern],
    [...name],
    "*",
    (wildcard, char) => wildcard === "?" || wildcard === char,
  );
}

/** Goes back only to the last wildcard: an earlier one cannot take more items than the last. */
function matches(
  pattern: readonly string[],
  items: readonly string[],
  any: string,
  matchesPart: (pattern: string, item: string) => boolean,
): boolean {
  let at = 0;
  let lastAny = -1;
  let retry = 0;
  for (let item = 0; item < items.length;) {
    const part = pattern[at];
    if (part === any) {
      lastAny = at++;
      retry = item;
    } else if (part !== undefined && matchesPart(part, items[item] ?? "")) {
      at++;
      item++;
    } else if (lastAny >= 0) {
      at = lastAny + 1;
      item = ++retry;
    } else {
      return false;
    }
  }
  while (pattern[at] === any) at++;
  return at === pattern.length;
}
