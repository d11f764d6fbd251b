/** Limits the size of the log file to which the daemon's standard error is redirected. */

import { unlessMissing } from "kit/host/file_errors.ts";

/** When the log would exceed this size, it is moved to `.1`, which replaces the previous backup. */
const LOG_BYTES_MAX = 10_485_760;
const STDERR = 2;

interface LogOptions {
  readonly bytes_max?: number;
  /** The file descriptor that receives the lines; standard error by default. */
  readonly descriptor?: number;
  readonly write?: (bytes: Uint8Array) => void;
}

/**
 * Writes lines to standard error; throws if it cannot. `mesh up` redirects standard error to the
 * file at `path`; when that file is full, it is copied to a backup and truncated. Other processes
 * that hold the file open for appending then continue at its new start.
 */
export function boundedLog(path: string, options: LogOptions = {}): (line: string) => void {
  const { bytes_max = LOG_BYTES_MAX, descriptor = STDERR, write = toStderr } = options;
  let size = isOpenAs(descriptor, path) ? Deno.statSync(path).size : 0;
  let isLineTorn = false;
  return (line) => {
    const bytes = new TextEncoder().encode(`${isLineTorn ? "\n" : ""}${line}\n`);
    if (size > 0 && size + bytes.length > bytes_max) size = rotate(path, descriptor);
    isLineTorn = true; // Until all of it is written.
    write(bytes);
    isLineTorn = false;
    size += bytes.length;
  };
}

/**
 * Returns the log's size after the rotation. If the rotation fails, for example on a full disk, the
 * daemon goes on and the log keeps growing.
 */
function rotate(path: string, descriptor: number): number {
  try {
    if (!isOpenAs(descriptor, path)) return 0;
    const backup = `${path}.1`;
    Deno.copyFileSync(path, backup);
    Deno.chmodSync(backup, 0o600);
    Deno.truncateSync(path, 0);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  return 0;
}

/**
 * True if the descriptor refers to the file that is at this path now. False for a terminal, and for
 * a file that was moved in the meantime.
 */
function isOpenAs(descriptor: number, path: string): boolean {
  const open = unlessMissing(() => Deno.statSync(`/dev/fd/${descriptor}`));
  const target = unlessMissing(() => Deno.statSync(path));
  return target?.isFile === true && open?.ino === target.ino && open.dev === target.dev;
}

function toStderr(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
}
