/** A directory for uploaded files, each complete or absent. Only this user can read it. */

import { join } from "kit/core/path.ts";
import { makeDirectory } from "kit/host/durable_files.ts";
import { DISK_ERRORS, unlessMissing } from "kit/host/file_errors.ts";
import { removeIfPresent } from "./paths.ts";

/** The suffix of a file's name while the file is being written. */
const PART_SUFFIX = ".part";

/** Files in one directory of the daemon. A name is a file name without a path. */
export type Files = ReturnType<typeof filesIn>;

/** The directory is created when the first file is written. */
export function filesIn(directory: string) {
  /** The path of a file, to be passed to an agent on this machine. */
  const pathOf = (name: string) => join(directory, name);
  /** Removes a file; does nothing if the file does not exist. */
  const remove = (name: string) => removeIfPresent(pathOf(name));
  return {
    pathOf,
    remove,
    /** Writes a new file. Once this resolves, it is on the disk. A rejection leaves no file. */
    async write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
      makeDirectory(directory);
      const part = `${name}${PART_SUFFIX}`;
      try {
        await writeWhole(pathOf(part), bytes);
        await Deno.rename(pathOf(part), pathOf(name));
        await syncDirectory(directory);
      } catch (error) {
        remove(part);
        remove(name);
        throw error;
      }
    },
    /** A file's size in bytes and its content; undefined if the file does not exist. */
    async open(name: string) {
      const file = unlessMissing(() => Deno.openSync(pathOf(name)));
      return file && { size: (await file.stat()).size, body: file.readable };
    },
    /** The names of all files, including those that are still being written. */
    names: (): string[] =>
      unlessMissing(() => [...Deno.readDirSync(directory)].map((entry) => entry.name)) ?? [],
  };
}

/** True if an error says that the disk refuses a write. */
export function isDiskError(error: unknown): boolean {
  return error instanceof Error && DISK_ERRORS.has(String((error as { code?: unknown }).code));
}

async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
  }
  await file.sync();
}

/** Makes a new file name durable, which needs a sync of its directory. Windows cannot sync one. */
async function syncDirectory(directory: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using opened = await Deno.open(directory);
  await opened.sync();
}
