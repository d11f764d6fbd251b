/**
 * A directory for uploaded files. A file is either complete or absent. Only this user can read it.
 */

import { join } from "node:path";

/** The suffix of a file's name while the file is being written. */
const PART_SUFFIX = ".part";

/** Files in one directory of the daemon. A name is a file name without a path. */
export interface Files {
  /** The path of a file, to be passed to an agent on this machine. */
  pathOf(name: string): string;
  /** Writes a new file. Once this resolves, it is on the disk. A rejection leaves no file. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** A file's size in bytes and its content; undefined if the file does not exist. */
  open(name: string): Promise<{ size: number; body: ReadableStream<Uint8Array> } | undefined>;
  /** Removes a file; does nothing if the file does not exist. */
  remove(name: string): void;
  /** The names of all files, including those that are still being written. */
  names(): string[];
}

/** The directory is created when the first file is written. */
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

/** Makes a new file name durable, which needs a sync of its directory. Windows cannot sync one. */
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
