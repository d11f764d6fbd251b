/** Reads files that agents write: regular files only, up to a size limit, without blocking. */

import type { Stats } from "node:fs";
import { basename, dirname, join, resolve } from "kit/core/path.ts";
import { fs } from "kit/host/node_library.ts";
import { unlessError } from "kit/host/file_errors.ts";

/** Errors that mean that the file does not exist or that this process may not read it. */
const ABSENT: ReadonlySet<unknown> = new Set(
  ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EACCES", "EPERM"],
);

interface WholeFile {
  /** If true, the file of another user is not read. */
  readonly own?: boolean;
  /** The real path of a folder: a path that leads out of it by a link is not read. */
  readonly inside?: string;
}

/** Reads a whole file. Undefined if it is absent, larger than `bytes_max`, or not to be read. */
export function readWhole(
  path: string,
  bytes_max: number,
  which: WholeFile = {},
): string | undefined {
  return decode(readBytes(path, bytes_max, which));
}

/** As `readWhole`, for a file that may be no text. */
export function readBytes(
  path: string,
  bytes_max: number,
  { own = false, inside }: WholeFile = {},
): Uint8Array<ArrayBuffer> | undefined {
  return read(path, ({ size, uid }, descriptor) => {
    if (size > bytes_max || (own && uid !== Deno.uid())) return undefined;
    return inside !== undefined && isElsewhere(path, descriptor) ? undefined : { from: 0, size };
  });
}

/**
 * The text of a file below a folder, or null if there is no such file, or why it is not read. No
 * symbolic link leads out of the folder, so that nobody reads through this what lies elsewhere.
 */
export function readBelow(
  folder: string,
  path: string,
  bytes_max: number,
): { readonly text: string | null } | { readonly unread: string } {
  const root = realFolder(folder), parent = realFolder(dirname(path));
  if (root === undefined) {
    return { unread: `the agent's folder ${folder === "" ? "is not known" : "does not exist"}` };
  }
  const isBelow = (at: string) => at === root || at.startsWith(`${root.replace(/\/$/, "")}/`);
  if (!isBelow(parent ?? resolve(path)) && !isBelow(resolve(path))) return OUTSIDE;
  if (parent === undefined) return { text: null };
  if (!isBelow(parent)) return OUTSIDE;
  const real = join(parent, basename(path));
  const file = unlessError(isAbsent, () => fs().lstatSync(real));
  if (!file) return { text: null };
  if (file.isSymbolicLink()) return { unread: "it is a symbolic link" };
  if (!file.isFile()) return { unread: "it is no regular file" };
  if (file.size > bytes_max) return { unread: `it has ${file.size} bytes` };
  const bytes = read(real, ({ size }) => size > bytes_max ? undefined : { from: 0, size });
  const text = bytes &&
    unlessError((error) => error instanceof TypeError, () => UTF_8.decode(bytes));
  return text === undefined || text.includes("\0") ? { unread: "it is no text" } : { text };
}

const OUTSIDE = { unread: "it is outside of the agent's folder" };
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function realFolder(path: string): string | undefined {
  return unlessError(isAbsent, () => fs().realpathSync(path));
}

/** True if links led to the opened file. Linux knows the file's own path. */
function isElsewhere(path: string, descriptor: number): boolean {
  const real = Deno.build.os === "linux"
    ? Deno.readLinkSync(`/proc/self/fd/${descriptor}`)
    : Deno.realPathSync(path);
  return real !== path;
}

/** Reads the first `bytes_max` bytes of a file; the last line may be incomplete. */
export function readHead(path: string, bytes_max: number): string | undefined {
  return decode(read(path, ({ size }) => ({ from: 0, size: Math.min(size, bytes_max) })));
}

/** Reads the last `bytes_max` bytes of a file; the first line may be incomplete. */
export function readTail(path: string, bytes_max: number): string | undefined {
  return decode(readBefore(path, Infinity, bytes_max)?.bytes);
}

/** A part of a file, and where it begins. */
interface FilePart {
  readonly bytes: Uint8Array;
  readonly from: number;
}

/** Reads the last `bytes_max` bytes before a position of a file. */
export function readBefore(path: string, end: number, bytes_max: number): FilePart | undefined {
  let from = 0;
  const bytes = read(path, ({ size }) => {
    from = Math.max(0, Math.min(size, end) - bytes_max);
    return { from, size: Math.max(0, Math.min(size, end) - from) };
  });
  return bytes && { bytes, from };
}

/** Reads up to `bytes_max` bytes from a position on, and the file's size. */
export function readFrom(
  path: string,
  from: number,
  bytes_max: number,
): { readonly bytes: Uint8Array; readonly size: number } | undefined {
  let size = 0;
  const bytes = read(path, (file) => {
    size = file.size;
    return { from, size: Math.max(0, Math.min(bytes_max, size - from)) };
  });
  return bytes && { bytes, size };
}

/** Changes whenever a regular file changes, or another takes its place; undefined without one. */
export function stampOf(path: string): string | undefined {
  const file = unlessError(isAbsent, () => fs().lstatSync(path));
  return file?.isFile() ? `${file.ino} ${file.size} ${file.mtimeMs}` : undefined;
}

/** Time of a regular file's last change, in milliseconds since 1970; undefined if there is none. */
export function changedAt(path: string): number | undefined {
  const file = unlessError(isAbsent, () => fs().lstatSync(path));
  return file?.isFile() ? Math.trunc(file.mtimeMs) : undefined;
}

/** The names in a folder, sorted. Empty if there is no such folder that this process may read. */
export function namesIn(folder: string): string[] {
  return unlessError(isAbsent, () => fs().readdirSync(folder))?.sort() ?? [];
}

/**
 * Opens the file without waiting, because a pipe or a device in place of the file would block the
 * whole daemon; only a regular file is then read. A symbolic link in place of the file itself is
 * not followed; symbolic links among its parent folders are.
 */
function read(
  path: string,
  choose: (file: Stats, descriptor: number) => { from: number; size: number } | undefined,
): Uint8Array<ArrayBuffer> | undefined {
  const { closeSync, constants, fstatSync, openSync, readSync } = fs();
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const file = unlessError(isAbsent, () => openSync(path, flags));
  if (file === undefined) return undefined;
  try {
    const stat = fstatSync(file);
    const part = stat.isFile() ? choose(stat, file) : undefined;
    if (!part) return undefined;
    const bytes = new Uint8Array(part.size);
    let length = 0;
    for (let got = 1; got > 0 && length < part.size; length += got) {
      got = readSync(file, bytes, length, part.size - length, part.from + length);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

function decode(bytes: Uint8Array | undefined): string | undefined {
  return bytes && new TextDecoder().decode(bytes);
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && ABSENT.has(error.code);
}
