/** A directory for files that others send: each is there whole and for our eyes only, or not. */

import { join } from "node:path";

/** What a file is called while it is being written. */
const PART_SUFFIX = ".part";

/** Files by their bare names, in one directory of the daemon's own. */
export interface Files {
  /** Where a file lies, for an agent on this machine. */
  pathOf(name: string): string;
  /** Writes a new file: on the disk when it resolves; nothing is left of it when it rejects. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Its size in bytes and what is in it; undefined when it is not there. */
  open(name: string): Promise<{ size: number; body: ReadableStream<Uint8Array> } | undefined>;
  /** Removes a file; one that is not there is removed already. */
  remove(name: string): void;
  /** The names of all files, the unfinished ones included. */
  names(): string[];
}

/** The directory is made when the first file comes. */
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

/** A new name is on the disk once its directory is; Windows has no such thing to ask for. */
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
