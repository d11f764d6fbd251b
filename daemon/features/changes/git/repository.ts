/**
 * Finds the repository of a folder without running git in it. An agent in a sandbox may have
 * written the repository: its configuration, hooks and attributes name programs, and its links lead
 * to files that the agent cannot read. So git never reads its configuration, and a repository whose
 * parts lie elsewhere is not read, unless that place names the folder as one of its work trees.
 */

import { namesIn, readWhole } from "../../../host/agent_files.ts";
import { dirname, join, resolve } from "kit/core/path.ts";
import { unlessError } from "kit/host/file_errors.ts";

export interface Repository {
  /** The folder with `.git`: the real path. */
  readonly root: string;
  /** The folder of its index and its HEAD. */
  readonly git_dir: string;
  /** The folder of its objects, its branches and its configuration: `git_dir`, or the main one. */
  readonly common_dir: string;
}

/** Why a folder has no repository that can be read. */
export type NoRepository = "no_folder" | "no_repository" | "bare" | "elsewhere" | "unsupported";

/** Maximum bytes of a file that names another folder. */
const LINK_BYTES_MAX = 8_192;
/** The text of a file `.git`, before the path. */
const LINK = "gitdir: ";

/** The repository of a path that anybody may have named; its links are followed. */
export function repositoryOf(path: string | null): Repository | NoRepository {
  const folder = path === null ? undefined : realPath(path);
  return folder === undefined ? "no_folder" : findRepository(folder);
}

/** The repository of a folder by its real path, or of the nearest folder above it. */
export function findRepository(folder: string): Repository | NoRepository {
  if (!isFolder(folder) || realPath(folder) !== folder) return "no_folder";
  for (let root = folder;; root = dirname(root)) {
    const found = repositoryAt(root);
    if (found) return typeof found === "string" ? found : checked(found);
    if (root === dirname(root)) return isBare(folder) ? "bare" : "no_repository";
  }
}

/** Undefined if the folder has no `.git`. */
function repositoryAt(root: string): Repository | NoRepository | undefined {
  const path = join(root, ".git");
  const found = statOf(path);
  if (!found) return undefined;
  if (found.isSymlink) return "elsewhere";
  if (found.isDirectory) {
    // Such as the empty folder with which a sandbox hides a repository.
    if (!statOf(join(path, "HEAD"))) return undefined;
    return { root, git_dir: path, common_dir: path };
  }
  const link = readWhole(path, LINK_BYTES_MAX) ?? "";
  const git_dir = link.startsWith(LINK)
    ? realPath(resolve(root, link.slice(LINK.length).trimEnd()))
    : undefined;
  if (git_dir === undefined) return "no_repository";
  return workTree(root, git_dir) ?? submodule(root, git_dir) ?? "elsewhere";
}

/** A work tree that `git worktree` made: the main repository names its `.git`. */
function workTree(root: string, git_dir: string): Repository | undefined {
  const back = readWhole(join(git_dir, "gitdir"), LINK_BYTES_MAX)?.trim();
  const common = readWhole(join(git_dir, "commondir"), LINK_BYTES_MAX)?.trim();
  if (back === undefined || common === undefined) return undefined;
  const common_dir = realPath(resolve(git_dir, common));
  const isNamed = realPath(resolve(git_dir, back)) === join(root, ".git");
  // Otherwise a folder could name itself as a work tree of any repository.
  const isListed = common_dir !== undefined && dirname(git_dir) === join(common_dir, "worktrees");
  return isNamed && isListed ? { root, git_dir, common_dir } : undefined;
}

/** A submodule: its repository lies in that of a folder above, and names the folder. */
function submodule(root: string, git_dir: string): Repository | undefined {
  const config = readWhole(join(git_dir, "config"), CONFIG_BYTES_MAX) ?? "";
  const tree = config.split("\n").map((line) => line.split("=").map((part) => part.trim()))
    .find(([name]) => name === "worktree")?.[1]?.replaceAll('"', "");
  if (tree === undefined || realPath(resolve(git_dir, tree)) !== root) return undefined;
  const above = git_dir.slice(0, git_dir.indexOf("/.git/modules/"));
  const isWithin = git_dir.includes("/.git/modules/") && root.startsWith(`${above}/`);
  return isWithin ? { root, git_dir, common_dir: git_dir } : undefined;
}

/** Maximum bytes of a configuration that is read. */
export const CONFIG_BYTES_MAX = 1_048_576;

/** Refuses a repository with objects, branches or an index in another place. */
function checked(repository: Repository): Repository | NoRepository {
  const { git_dir, common_dir } = repository;
  if (statOf(join(common_dir, "reftable"))) return "unsupported";
  const objects = join(common_dir, "objects");
  const folders = [join(common_dir, "refs"), objects];
  if (!folders.every((folder) => statOf(folder)?.isDirectory === true)) return "elsewhere";
  const index = statOf(join(git_dir, "index"));
  if (index && !index.isFile) return "elsewhere";
  if ((statOf(join(objects, "info", "alternates"))?.size ?? 0) > 0) return "elsewhere";
  const links = [objects, join(objects, "pack")].flatMap((folder) =>
    namesIn(folder).map((name) => join(folder, name))
  ).filter((path) => statOf(path)?.isSymlink);
  return links.length > 0 ? "elsewhere" : repository;
}

function isBare(folder: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => statOf(join(folder, name)) !== undefined);
}

/** The operation that waits to be continued or ended, such as a merge with conflicts. */
export function operationIn({ git_dir }: Repository): string | null {
  const found = Object.entries(OPERATIONS).find(([name]) => statOf(join(git_dir, name)));
  return found?.[1] ?? null;
}

// deno-fmt-ignore
const OPERATIONS = {
  "rebase-merge":     "rebase",
  "rebase-apply":     "rebase",
  "MERGE_HEAD":       "merge",
  "CHERRY_PICK_HEAD": "cherry-pick",
  "REVERT_HEAD":      "revert",
  "BISECT_LOG":       "bisect",
} as const;

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory === true;
}

/** The file itself: a link is not followed. */
export function statOf(path: string): Deno.FileInfo | undefined {
  return unlessError(isUnreadable, () => Deno.lstatSync(path));
}

export function realPath(path: string): string | undefined {
  return unlessError(isUnreadable, () => Deno.realPathSync(path));
}

const { FilesystemLoop, InvalidData, NotADirectory, NotFound, PermissionDenied } = Deno.errors;

function isUnreadable(error: unknown): boolean {
  const kinds = [FilesystemLoop, InvalidData, NotADirectory, NotFound, PermissionDenied];
  return kinds.some((kind) => error instanceof kind) ||
    // A path with a NUL, or one that is too long.
    error instanceof TypeError || (error instanceof Error && "code" in error);
}
