/** Finds the files by which the work of two agents concerns each other. */

import { basename, dirname } from "kit/core/path.ts";
import type { Snapshot } from "./snapshots.ts";

type Changed = Pick<Snapshot, "files" | "imports">;

/** Names of files that stand for their folder. */
const FOLDER_FILES: ReadonlySet<string> = new Set(["index", "mod", "__init__", "lib"]);
/** A shorter name would be found in ordinary text. */
const NAME_CHARS_MIN = 2;

/** The files that both change, and those of one that a changed file of the other imports. */
export function sharedFiles(first: Changed, second: Changed): string[] {
  const mine = new Set(first.files);
  const both = second.files.filter((path) => mine.has(path));
  return [...new Set([...both, ...imported(first, second), ...imported(second, first)])].toSorted();
}

/** The changed files of `of` that a changed file of `by` imports, judged by their names. */
export function imported(by: Changed, of: Changed): string[] {
  if (by.imports.length === 0) return [];
  const words = new Set(by.imports.flatMap(({ line }) => line.match(/[\w-]+/g) ?? []));
  return of.files.filter((path) => {
    const name = moduleName(path);
    return name.length >= NAME_CHARS_MIN && words.has(name);
  });
}

/** The name by which other files import a file: without its folder and its endings. */
function moduleName(path: string): string {
  const [name = ""] = basename(path).split(".");
  return FOLDER_FILES.has(name) && path.includes("/") ? basename(dirname(path)) : name;
}
