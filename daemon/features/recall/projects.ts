/** Projects: the folders of peers, and the files in them that a text names. */

import { cleanLine } from "kit/core/text.ts";
import { resolve } from "kit/core/path.ts";
import { realPath, repositoryOf, statOf } from "../changes/git/repository.ts";
import type { NamedFile } from "protocol/asks/recall.ts";

/** Maximum files of one ask whose state is read. */
const FILES_MAX = 5;
/** Maximum characters of a text that are searched for the names of files. */
const CHARS_MAX = 20_000;

/** A name with an extension, and the folders before it. */
const FILE =
  /(?<![\w@./-])(?:\.{0,2}\/)?(?:[\w@.-]{1,100}\/){0,20}[\w@-][\w@.-]{0,100}\.\w{1,10}\b/g;

export interface Project {
  /** Equal for all work trees of one repository. */
  readonly key: string;
  /** The root of the work tree, or the folder itself outside of repositories. */
  readonly root: string;
}

export function projectOf(path: string): Project {
  const found = repositoryOf(path);
  if (typeof found === "object") return { key: found.common_dir, root: found.root };
  const root = realPath(path) ?? path;
  return { key: root, root };
}

/**
 * The files of a project that texts name. A name may come from anybody, so nothing outside of the
 * project is looked at. A name without a folder counts only if there is such a file.
 */
export function namedFiles(texts: readonly string[], folders: readonly string[], since: number) {
  const names = texts.flatMap((text) => text.slice(0, CHARS_MAX).match(FILE) ?? []);
  const files = new Map<string, NamedFile>();
  for (const name of new Set(names.map(cleanLine))) {
    const file = files.size < FILES_MAX ? fileIn(folders, name, since) : undefined;
    const plain = name.replace(/^\.\//, "");
    if (file && !files.has(plain)) files.set(plain, file);
  }
  return [...files.values()];
}

function fileIn(folders: readonly string[], path: string, since: number): NamedFile | undefined {
  const inside = folders.flatMap((folder) => {
    const full = resolve(folder, path);
    const root = projectOf(folder).root;
    return isWithin(root, full) ? [{ root, full }] : [];
  });
  for (const { root, full } of inside) {
    const real = realPath(full);
    const found = real !== undefined && isWithin(root, real) ? statOf(real) : undefined;
    if (!found?.isFile) continue;
    const changed_at = found.mtime?.getTime() ?? null;
    const isChanged = changed_at !== null && changed_at > since;
    return { path, state: isChanged ? "changed" : "unchanged", changed_at };
  }
  if (inside.length === 0 || !path.includes("/")) return undefined;
  return { path, state: "missing", changed_at: null };
}

function isWithin(root: string, path: string): boolean {
  return path.startsWith(root === "/" ? root : `${root}/`);
}
