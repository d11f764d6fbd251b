/**
 * A directory for uploaded files. Each file is either complete or absent, and private to the user.
 */

import { join } from "node:path";

/** The suffix of a file while it is being written. */
const PART_SUFFIX = ".part";

/** Files by their bare names, in one directory of the daemon. */
export interface Files {
  /** The path of a file, for an agent on this machine. */
  pathOf(name: string): string;
  /** Writes a new file. It is on the disk once this resolves; a rejection leaves nothing behind. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** The size in bytes and the content; undefined if there is no such file. */
  open(name: string): Promise<{ size: number; body: ReadableStream<Uint8Array> } | undefined>;
  /** Removes a file; succeeds if there is none. */
  remove(name: string): void;
  /** The names of all files, unfinished ones included. */
  names(): string[];
}

/** Creates the directory with the first file. */
export function filesIn(directory: string): Files {
  const pathOf = (name: string) => join(directory, name);
  const remove = (name: string) => ignoreAbsent(() => Deno.removeSync(pathOf(name)));
  return {
    pathOf,
    remove,
    async write(name, bytes) {
      await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
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
    async open(name) {
      const file = await ignoreAbsent(() => Deno.open(pathOf(name)));
      return file && { size: (await file.stat()).size, body: file.readable };
    },
    names: () =>
      ignoreAbsent(() => [...Deno.readDirSync(directory)].map((entry) => entry.name)) ?? [],
  };
}

async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
  }
  await file.sync();
}

/** A new name is on the disk once its directory is synced. Windows cannot sync a directory. */
async function syncDirectory(directory: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using opened = await Deno.open(directory);
  await opened.sync();
}

function ignoreAbsent<A>(work: () => A): A | undefined;
function ignoreAbsent<A>(work: () => Promise<A>): Promise<A | undefined>;
function ignoreAbsent<A>(work: () => A | Promise<A>): A | Promise<A | undefined> | undefined {
  try {
    const done = work();
    return done instanceof Promise ? done.catch(undefinedIfAbsent) : done;
  } catch (error) {
    return undefinedIfAbsent(error);
  }
}

function undefinedIfAbsent(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
