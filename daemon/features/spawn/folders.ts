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
  // `~/work/ap` is `ap` in `~/work/`.
  const name_at = prefix.lastIndexOf("/") + 1;
  const [parent, name] = [prefix.slice(0, name_at), prefix.slice(name_at)];
  const found = await allowedFolder(parent, scope);
  if (!found.ok) throw new Problem("path_not_allowed", { path: prefix, reason: found.why });
  const names = (await namesIn(found.folder, prefix)).filter((entry) => entry.startsWith(name));
  return toFolders(await allowedFolders(names.map((entry) => parent + entry), scope));
}

function beginsWith(root: string, prefix: string, home: string): boolean {
  return root.startsWith(prefix) || expandHome(root, home).startsWith(expandHome(prefix, home));
}

/** Names of folders and of links, in order, hidden ones last. */
async function namesIn(folder: string, prefix: string): Promise<string[]> {
  const names: string[] = [];
  let entries = 0;
  try {
    for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
      if (++entries > ENTRIES_MAX) break;
      if (isDirectory || isSymlink) names.push(name);
    }
  } catch (error) {
    if (!(error instanceof PermissionDenied || error instanceof NotFound)) throw error;
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
    if (NO_FOLDER.some((kind) => error instanceof kind)) return undefined;
    const isTooLong = error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
    if (isTooLong) return undefined;
    throw error;
  }
}

const { FilesystemLoop, InvalidData, NotADirectory, NotFound, PermissionDenied } = Deno.errors;
/** Errors of a path that is no folder, or that is invalid: a NUL is a `TypeError`. */
const NO_FOLDER = [
  ...[NotFound, NotADirectory, PermissionDenied],
  ...[FilesystemLoop, InvalidData, TypeError],
];

/** Replaces a leading `~`. */
function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}
