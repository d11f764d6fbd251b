/** The folders in which agents may start and checks may run: `spawn.allowed_paths`. */

import { isAbsolute, join } from "kit/core/path.ts";

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

/**
 * True if an error means an invalid path: it has a NUL, a name that is too long, or a loop of
 * links.
 */
function isInvalidPath(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof Deno.errors.InvalidData) return true;
  if (error instanceof Deno.errors.FilesystemLoop) return true;
  return error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
}

/** Follows the links of a path. Refuses a folder outside of the allowed folders. */
export async function allowedFolder(
  path: string,
  { allowed, home }: { allowed: readonly string[]; home: string },
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

/** Replaces a leading `~`. */
export function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}
