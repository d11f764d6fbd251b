/** The repository of a file, whose work trees share it. */

import { join } from "kit/core/path.ts";
import { findRepository, realPath, repositoryOf, statOf } from "../changes/git/repository.ts";
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
    const { folder, rest } = existingPart(path);
    const { root, repository } = this.#ofFolder(folder);
    const real = join(folder, rest);
    return { root, repository, path: root === "" ? real : real.slice(root.length + 1) };
  }

  #ofFolder(folder: string) {
    const known = this.#folders.get(folder);
    if (known) return known;
    const place = toPlace(findRepository(folder));
    this.#folders.set(folder, place);
    return place;
  }
}

/** The repository that a folder is part of, as all its work trees have it; empty without one. */
export function repositoryKey(folder: string | null): string {
  return toPlace(repositoryOf(folder)).repository;
}

function toPlace(found: ReturnType<typeof repositoryOf>) {
  return typeof found === "string"
    ? { root: "", repository: "" }
    : { root: found.root, repository: found.common_dir };
}

/**
 * The real path of the deepest folder of a path that exists, and the rest of the path. A file that
 * is a link counts as its target. An agent may name any path, so a search by halves bounds the
 * calls of the system: a path of 4,096 characters has up to 2,000 folders.
 */
function existingPart(path: string): { folder: string; rest: string } {
  const real = realPath(path);
  const parts = (real ?? path).split("/");
  let found = "/", exists = 1, missing = parts.length;
  while (missing - exists > 1) {
    const middle = (exists + missing) >> 1;
    const folder = folderAt(parts.slice(0, middle).join("/"));
    if (folder === undefined) missing = middle;
    else [found, exists] = [folder, middle];
  }
  return { folder: found, rest: parts.slice(exists).join("/") };
}

function folderAt(path: string): string | undefined {
  const real = realPath(path);
  return real !== undefined && statOf(real)?.isDirectory ? real : undefined;
}
