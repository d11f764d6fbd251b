/** Facts about running processes. Reading a fact again costs a quarter of the first time. */

import {
  type IsAlive,
  isAlive,
  isGone,
  isMac,
  isPid,
  parentOf,
  type ProcessId,
  startTimeOf,
} from "./processes.ts";
import { unlessError } from "kit/host/file_errors.ts";

/** Maximum number of open files. The usual limit for a process is about a thousand. */
const FILES_MAX = 256;
/** Known processes checked with each new process, so that the files of ended ones are closed. */
const CHECKED_WITH_NEW = 2;
const ASCII_ZERO = "0".charCodeAt(0);

/** A process that was alive when its file was opened. A later process has a different file. */
interface OpenProcess {
  readonly started: string | undefined;
  readonly file: Deno.FsFile;
  /** A process gets another parent only when its parent ends. */
  parent?: ProcessId;
}

/**
 * Keeps the `statm` file of each checked process open. When the process has ended, reading the file
 * fails; for a zombie, the file reports zero pages.
 */
export class LivenessCache implements Disposable {
  readonly #open = new Map<number, OpenProcess>();
  /** Processes that were seen alive in this turn of the event loop: each is checked once. */
  readonly #seen = new Set<OpenProcess>();
  readonly #firstByte = new Uint8Array(1);
  readonly #files_max: number;

  constructor(files_max = FILES_MAX) {
    this.#files_max = files_max;
  }

  readonly isAlive: IsAlive = (pid, started) => {
    const known = this.#open.get(pid);
    if (known && known.started === started && this.#isReadable(known)) return true;
    this.#forget(pid);
    const file = openStatm(pid);
    const alive = isAlive(pid, started); // Checked after opening: the file is this process's.
    if (file && alive) this.#remember(pid, { started, file });
    else file?.close();
    return alive;
  };

  readonly startTimeOf = (pid: number): string | undefined => {
    const known = this.#open.get(pid);
    if (known?.started !== undefined && this.#isReadable(known)) return known.started;
    const started = startTimeOf(pid);
    if (started !== undefined && !isMac()) this.isAlive(pid, started);
    return started;
  };

  readonly parentOf = (pid: number): number | undefined => {
    if (isMac() || this.startTimeOf(pid) === undefined) return parentOf(pid);
    const known = this.#open.get(pid)?.parent;
    if (known && this.isAlive(known.pid, known.started)) return known.pid;
    const parent = parentOf(pid);
    const started = parent && this.startTimeOf(parent);
    const child = this.#open.get(pid);
    if (child && parent && started) child.parent = { pid: parent, started };
    return parent;
  };

  [Symbol.dispose](): void {
    for (const pid of this.#open.keys()) this.#forget(pid);
  }

  #isReadable(process: OpenProcess): boolean {
    if (this.#seen.has(process)) return true;
    const { file } = process;
    const length = unlessError(isGone, () => {
      file.seekSync(0, Deno.SeekMode.Start);
      return file.readSync(this.#firstByte);
    });
    if (length !== 1 || this.#firstByte[0] === ASCII_ZERO) return false;
    if (this.#seen.size === 0) queueMicrotask(() => this.#seen.clear());
    this.#seen.add(process);
    return true;
  }

  #remember(pid: number, entry: OpenProcess): void {
    for (const [oldest, process] of [...this.#open.entries().take(CHECKED_WITH_NEW)]) {
      if (!this.#isReadable(process)) this.#forget(oldest);
      else {
        this.#open.delete(oldest);
        this.#open.set(oldest, process);
      }
    }
    if (this.#open.size >= this.#files_max) this[Symbol.dispose]();
    this.#open.set(pid, entry);
  }

  #forget(pid: number): void {
    this.#open.get(pid)?.file.close();
    this.#open.delete(pid);
  }
}

/** Opens the process's memory statistics; undefined where the platform has no such file. */
function openStatm(pid: number): Deno.FsFile | undefined {
  if (isMac() || !isPid(pid)) return undefined;
  return unlessError(isGone, () => Deno.openSync(`/proc/${pid}/statm`));
}
