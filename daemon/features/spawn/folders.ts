/** The folders in which agents may start and checks may run (`spawn.allowed_paths`). */

import { Problem } from "protocol/problems.ts";
import { type Folders, FOLDERS_MAX } from "protocol/spawn/contract.ts";
import { isAbsolute, join } from "kit/core/path.ts";

/** Maximum entries of a folder that are read. */
const ENTRIES_MAX = 5_000;

/** The folders that a person has allowed, and the home folder, which `~` stands for. */
export interface FolderScope {
  readonly allowed: readonly string[];
  readonly home: string;
}

/** Follows the links of a path. Refuses a folder outside of the allowed folders. */
export async function allowedFolder(
  path: string,
  { allowed, home }: FolderScope,
): Promise<{ ok: true; folder: string } | { ok: false; why: string }> {
  const fullPath = expandHome(path, home);
  if (!isAbsolute(fullPath)) return { ok: false, why: "it is not an absolute path" };
  const folder = await folderOf(fullPath);
  if (folder === undefined) return { ok: false, why: "there is no such folder" };
  for (const root of allowed) {
    const rootFolder = await folderOf(expandHome(root, home));
    if (rootFolder !== undefined && isWithin(folder, rootFolder)) return { ok: true, folder };
  }
  return { ok: false, why: "it lies in no folder of spawn.allowed_paths" };
}

/** As `allowedFolder`. Throws `path_not_allowed` for any other folder. */
export async function mustBeAllowed(path: string, scope: FolderScope): Promise<string> {
  const found = await allowedFolder(path, scope);
  if (found.ok) return found.folder;
  throw new Problem("path_not_allowed", { path, reason: found.why });
}

/**
 * The folders that complete a prefix: the allowed roots that begin with it, or the folders inside
 * the folder that it names. Links are followed; a target outside of the allowed roots is left out.
 */
export async function completeFolder(prefix: string, scope: FolderScope): Promise<Folders> {
  const roots = scope.allowed.filter((root) => beginsWith(root, prefix, scope.home));
  if (roots.length > 0 || prefix === "") return toFolders(await allowedFolders(roots, scope));
  const { parent, name } = split(prefix);
  const found = await allowedFolder(parent, scope);
  if (!found.ok) throw new Problem("path_not_allowed", { path: prefix, reason: found.why });
  const names = await namesIn(found.folder, prefix, (entry) => entry.startsWith(name));
  return toFolders(await allowedFolders(names.map((entry) => parent + entry), scope));
}

function beginsWith(root: string, prefix: string, home: string): boolean {
  return root.startsWith(prefix) || expandHome(root, home).startsWith(expandHome(prefix, home));
}

/** `~/work/ap` is `ap` in `~/work/`. */
function split(prefix: string): { parent: string; name: string } {
  const at = prefix.lastIndexOf("/") + 1;
  return { parent: prefix.slice(0, at), name: prefix.slice(at) };
}

/** Names of folders and of links, in order, hidden ones last. */
async function namesIn(
  folder: string,
  prefix: string,
  isWanted: (name: string) => boolean,
): Promise<string[]> {
  const names: string[] = [];
  let entries = 0;
  try {
    for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
      if (++entries > ENTRIES_MAX) break;
      if ((isDirectory || isSymlink) && isWanted(name)) names.push(name);
    }
  } catch (error) {
    const unreadable = error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotFound;
    if (!unreadable) throw error;
    throw new Problem("path_not_allowed", { path: prefix, reason: "it cannot be read" });
  }
  return names.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)) || (a < b ? -1 : 1));
}

function isHidden(name: string): boolean {
  return name.startsWith(".");
}

/** The first paths that are allowed folders, up to one more than the answer's limit. */
async function allowedFolders(paths: readonly string[], scope: FolderScope): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    if (found.length > FOLDERS_MAX) break;
    if ((await allowedFolder(path, scope)).ok) found.push(path);
  }
  return found;
}

function toFolders(folders: readonly string[]): Folders {
  return { folders: folders.slice(0, FOLDERS_MAX), truncated: folders.length > FOLDERS_MAX };
}

/** The real path of a folder; undefined if the path is no folder. */
async function folderOf(path: string): Promise<string | undefined> {
  try {
    const real = await Deno.realPath(path);
    return (await Deno.stat(real)).isDirectory ? real : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    if (error instanceof Deno.errors.PermissionDenied || isInvalidPath(error)) return undefined;
    throw error;
  }
}

/** True if a path is invalid: it has a NUL, a name that is too long, or a loop of links. */
function isInvalidPath(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof Deno.errors.InvalidData) return true;
  if (error instanceof Deno.errors.FilesystemLoop) return true;
  return error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
}

/** Replaces a leading `~`. */
function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}
