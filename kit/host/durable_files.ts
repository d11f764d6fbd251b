/**
 * Files that survive a loss of power once a function returns: the content is synced, and so is the
 * directory that holds the name. Imports no library, so that hooks start fast.
 */

import { dirname } from "kit/core/path.ts";
import { FileRefusal, onFile, unlessError, unlessMissing } from "./file_errors.ts";

/**
 * Writes a file atomically, readable by this user only. If the file or its temporary name is a
 * symbolic link, the link is replaced and not followed.
 */
export function writePrivately(path: string, text: string): void {
  const fresh = `${path}.new`;
  const removeFresh = () => unlessMissing(() => Deno.removeSync(fresh));
  onFile("write", path, () => {
    // A crash may have left this file, or another program may have placed a link here.
    removeFresh();
    try {
      writeNew(fresh, new TextEncoder().encode(text));
      Deno.renameSync(fresh, path);
    } catch (error) {
      removeFresh(); // If the disk is full, a partial file remains.
      throw error;
    }
    syncDirectory(dirname(path));
  });
}

/** Creates a directory and those above it, all for this user only, where they are missing. */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  // Another process may create it at the same time.
  const isPresent = (error: unknown) => error instanceof Deno.errors.AlreadyExists;
  onFile("create", path, () => unlessError(isPresent, () => Deno.mkdirSync(path, { mode: 0o700 })));
  if (!isDirectory(path)) {
    throw new FileRefusal(
      `Cannot create the directory "${path}"`,
      "a file is there",
      "move the file away, or choose another path",
    );
  }
  syncDirectory(parent);
}

/** Waits until the content of a file is on the disk. */
export function syncFile(path: string): void {
  using opened = Deno.openSync(path);
  opened.syncSync();
}

/** Waits until the names in a directory are on the disk. Windows cannot sync a directory. */
export function syncDirectory(path: string): void {
  if (Deno.build.os !== "windows") syncFile(path);
}

function writeNew(path: string, bytes: Uint8Array): void {
  using file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
  file.syncSync();
}

function isDirectory(path: string): boolean {
  return onFile("read", path, () => unlessMissing(() => Deno.statSync(path).isDirectory)) ?? false;
}
