/** Limits the size of the daemon's log file, which receives its standard error. */

/** A larger log is moved to `.1`, replacing the previous one, and starts again. */
const LOG_BYTES_MAX = 10_485_760;
const STDERR = 2;

interface LogOptions {
  readonly bytes_max?: number;
  /** Receives the lines; standard error by default. */
  readonly descriptor?: number;
  readonly write?: (bytes: Uint8Array) => void;
}

/**
 * Writes lines to standard error. If that is the file at `path`, as `mesh up` arranges, a full file
 * is copied and truncated: processes that hold it open for appending continue at its start.
 */
export function boundedLog(path: string, options: LogOptions = {}): (line: string) => void {
  const { bytes_max = LOG_BYTES_MAX, descriptor = STDERR, write = toStderr } = options;
  let size = isOpenAs(descriptor, path) ? Deno.statSync(path).size : 0;
  return (line) => {
    const bytes = new TextEncoder().encode(`${line}\n`);
    if (size > 0 && size + bytes.length > bytes_max) size = rotate(path, descriptor);
    write(bytes);
    size += bytes.length;
  };
}

/**
 * Returns the size from now on. A full disk must not end the daemon: then the log keeps growing.
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

/** Whether an open file is the one at this path, not a terminal or a file that was moved since. */
function isOpenAs(descriptor: number, path: string): boolean {
  try {
    const open = Deno.statSync(`/dev/fd/${descriptor}`), target = Deno.statSync(path);
    return target.isFile && open.ino === target.ino && open.dev === target.dev;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function toStderr(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
}
