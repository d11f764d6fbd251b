/** The repository of a file, whose work trees share it. */

import { basename, dirname, join } from "kit/core/path.ts";
import { findRepository, realPath } from "../changes/git/repository.ts";
import type { FileKey } from "./store.ts";

/** A file in its work tree; the root is empty outside of a repository. */
export interface FilePlace extends FileKey {
  readonly root: string;
}

/** Finds the places of files. It remembers folders, so use it for a short time. */
export class FilePlaces {
  readonly #folders = new Map<string, { readonly root: string; readonly repository: string }>();

  /** The place of an absolute path, whether the file exists or not. */
  of(path: string): FilePlace {
    const real = realPathOf(path);
    const { root, repository } = this.#ofFolder(dirname(real));
    return { root, repository, path: root === "" ? real : real.slice(root.length + 1) };
  }

  /** The repository of a folder; empty without one. */
  repositoryOf(folder: string): string {
    const real = realPath(folder);
    return real === undefined ? "" : this.#ofFolder(real).repository;
  }

  #ofFolder(folder: string) {
    const known = this.#folders.get(folder);
    if (known) return known;
    const found = findRepository(existing(folder));
    const place = typeof found === "string"
      ? { root: "", repository: "" }
      : { root: found.root, repository: found.common_dir };
    this.#folders.set(folder, place);
    return place;
  }
}

/** The path with the links of its folder resolved, as far as the folder exists. */
function realPathOf(path: string): string {
  const missing = [basename(path)];
  for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) {
    const real = realPath(folder);
    if (real !== undefined) return join(real, ...missing);
    missing.unshift(basename(folder));
  }
  return path;
}

function existing(folder: string): string {
  let at = folder;
  while (at !== "/" && realPath(at) === undefined) at = dirname(at);
  return at;
}
