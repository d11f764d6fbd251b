/**
 * Limits on a running program and all processes that it started: their number, their memory, their
 * writes to disks, and the disk space of their folder. They are measured now and then, so a program
 * may exceed them for a moment. Processes are measured on Linux only.
 */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { unlessError } from "kit/host/file_errors.ts";
import {
  isMac,
  isUnreadable,
  parentOf,
  processIds,
  readProcFile,
  writtenBytes,
} from "./processes.ts";

export interface ProgramLimits {
  readonly memory_bytes_max: number;
  readonly processes_max?: number;
  /** Of all writes to disks, as far as the processes that made them run or were waited for. */
  readonly written_bytes_max?: number;
  /** Of all files in its folder. */
  readonly disk_bytes_max?: number;
}

const PROCESSES_MAX = 2_000;
/** The part of this machine's memory that a program may use if nothing else is configured. */
const MEMORY_SHARE = 0.75;
const MEASURE_MS = 250;
/** The pause after a measurement of a folder, in units of its duration, so that it stays cheap. */
const DISK_PAUSE_FACTOR = 10;
/** Files that are measured before other requests run. */
const DISK_STEP_FILES = 500;
const KIB = 1_024;
const MIB = 1_048_576;
/** The unit of `blocks` in stat(2). */
const BLOCK_BYTES = 512;

export function memoryShare(): number {
  return Math.floor(Deno.systemMemoryInfo().total * MEMORY_SHARE);
}

interface Measured {
  readonly pid: number;
  readonly folder: string;
  readonly clock: Clock;
  /** Ends the measurements. */
  readonly signal: AbortSignal;
  /** True for a process that bears the sign of the program. */
  isMember(pid: number): boolean;
}

/** Resolves with a sentence on the first exceeded limit; undefined once the signal aborts. */
export async function exceededLimit(
  limits: ProgramLimits,
  measured: Measured,
): Promise<string | undefined> {
  const { disk_bytes_max } = limits;
  return await Promise.race([
    ...isMac() ? [] : [exceededByProcesses(limits, measured)],
    ...disk_bytes_max === undefined ? [] : [exceededByFiles(disk_bytes_max, measured)],
  ]);
}

async function exceededByProcesses(
  { memory_bytes_max, processes_max = PROCESSES_MAX, written_bytes_max = Infinity }: ProgramLimits,
  { pid, clock, signal, isMember }: Measured,
): Promise<string | undefined> {
  const processes = new OwnProcesses(pid, isMember);
  while (!signal.aborted) {
    const pids = processes.find();
    if (pids.length > processes_max) return `It started more than ${processes_max} processes`;
    const bytes = pids.reduce((sum, pid) => sum + memoryOf(pid), 0);
    if (bytes > memory_bytes_max) {
      return `It used more than ${mebibytes(memory_bytes_max)} of memory`;
    }
    // A process counts the writes of children that it has waited for.
    const written = pids.reduce((sum, pid) => sum + (writtenBytes(pid) ?? 0), 0);
    if (written > written_bytes_max) {
      return `It wrote more than ${mebibytes(written_bytes_max)} to disks`;
    }
    await pause(clock, MEASURE_MS, signal);
  }
  return undefined;
}

/** The processes of a program. A look at a process takes 0.2 ms, so each is looked at once. */
class OwnProcesses {
  #own: ReadonlySet<number>;
  #others: ReadonlySet<number> = new Set();
  readonly #isMember: (pid: number) => boolean;

  constructor(pid: number, isMember: (pid: number) => boolean) {
    this.#own = new Set([pid]);
    this.#isMember = isMember;
  }

  /** A sandbox clears the environment of its processes, which are known by their parents. */
  find(): readonly number[] {
    const own = new Set<number>();
    const others = new Set<number>();
    for (const pid of processIds().toSorted((a, b) => a - b)) {
      const isOwn = !this.#others.has(pid) &&
        (this.#own.has(pid) || own.has(parentOf(pid) ?? 0) || this.#isMember(pid));
      (isOwn ? own : others).add(pid);
    }
    this.#own = own;
    this.#others = others;
    return [...own];
  }
}

/** The memory that a process does not share with files, in bytes. */
function memoryOf(pid: number): number {
  const status = readProcFile(`${pid}/status`) ?? "";
  const fields = status.matchAll(/^(?:RssAnon|RssShmem):\s+(\d+)/gm);
  return fields.reduce((sum, [, kib]) => sum + Number(kib) * KIB, 0);
}

async function exceededByFiles(
  bytes_max: number,
  measured: Measured,
): Promise<string | undefined> {
  const { clock, folder, signal } = measured;
  while (!signal.aborted) {
    const begun_at = clock.monotonic();
    if (await hasMore(folder, bytes_max, measured)) {
      return `Its folder grew to more than ${mebibytes(bytes_max)}`;
    }
    const took_ms = clock.monotonic() - begun_at;
    await pause(clock, Math.max(MEASURE_MS, took_ms * DISK_PAUSE_FACTOR), signal);
  }
  return undefined;
}

/** True if the files below a folder take more disk space. No link is followed. */
async function hasMore(
  folder: string,
  bytes_max: number,
  { clock, signal }: Measured,
): Promise<boolean> {
  const folders = [folder];
  let bytes = 0;
  let count = 0;
  for (let at = folders.pop(); at !== undefined && !signal.aborted; at = folders.pop()) {
    for (const { name, isDirectory } of entriesOf(at)) {
      const path = `${at}/${name}`;
      if (isDirectory) folders.push(path);
      bytes += bytesOf(path);
      if (bytes > bytes_max) return true;
      if (++count % DISK_STEP_FILES === 0) await clock.sleep(0);
    }
  }
  return false;
}

/** Files come and go during the measurement, and the program may close a folder. */
function entriesOf(folder: string): Deno.DirEntry[] {
  return unlessError(isGone, () => [...Deno.readDirSync(folder)]) ?? [];
}

function bytesOf(path: string): number {
  return unlessError(isGone, () => (Deno.lstatSync(path).blocks ?? 0) * BLOCK_BYTES) ?? 0;
}

/** A folder may be a file by now. */
function isGone(error: unknown): boolean {
  return isUnreadable(error) || error instanceof Deno.errors.NotADirectory;
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
