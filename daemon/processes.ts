/** Facts about processes, read fresh each time: from /proc on Linux, from `ps` on macOS. */

/** How far `isDescendant` climbs: far deeper than any pane, and an end for a damaged table. */
const GENERATIONS_MAX = 64;

/** `/proc/<pid>/stat` after the name in brackets: index 0 is the third field of proc(5). */
const STAT = { state: 0, parent: 1, group: 2, terminal: 4, foreground: 5, started: 19 } as const;

/** Start time of a process: clock ticks since boot on Linux, a date in words on macOS. */
export function startOf(pid: number): string | undefined {
  return fact(pid, "started");
}

/** A pid means nothing without its start time: give it wherever it is known. */
export function isAlive(pid: number, started?: string): boolean {
  const [state, since] = facts(pid, ["state", "started"]);
  return isLife(state, since, started);
}

/** What `isAlive` is, for those who are given one that costs less. */
export type IsAlive = typeof isAlive;

function isLife(state: string | undefined, since: string | undefined, started?: string): boolean {
  if (state === undefined || /^[ZX]/.test(state)) return false;
  return started === undefined || since === started;
}

/** Files that are kept open at once, of the thousand that a process may have as a rule. */
const FILES_MAX = 256;
/** More than the kernel has to say of a process in `stat`. */
const STAT_BYTES_MAX = 2048;

/**
 * Looks again and again whether processes live, at a fifth of what `isAlive` costs: it keeps the
 * kernel's word on each open. An open one tells of its very process, and ends with that.
 */
export class Pulses implements Disposable {
  readonly #files = new Map<number, Deno.FsFile>();
  readonly #buffer = new Uint8Array(STAT_BYTES_MAX);

  readonly isAlive: IsAlive = (pid, started) => {
    if (isMac()) return isAlive(pid, started);
    const stat = this.#read(pid) ?? this.#read(pid); // The pid may be another process's by now.
    const [state, since] = stat === undefined ? [] : factsIn(stat, ["state", "started"]);
    return isLife(state, since, started);
  };

  [Symbol.dispose](): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #read(pid: number): string | undefined {
    const file = this.#files.get(pid) ?? this.#open(pid);
    if (!file) return undefined;
    try {
      file.seekSync(0, Deno.SeekMode.Start);
      const length = file.readSync(this.#buffer) ?? 0;
      return new TextDecoder().decode(this.#buffer.subarray(0, length));
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#files.delete(pid);
      file.close();
      return undefined;
    }
  }

  #open(pid: number): Deno.FsFile | undefined {
    if (this.#files.size >= FILES_MAX) this[Symbol.dispose]();
    try {
      const file = isPid(pid) ? Deno.openSync(`/proc/${pid}/stat`) : undefined;
      if (file) this.#files.set(pid, file);
      return file;
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }
}

/** Sends a signal; `forbidden` where the process is another user's. */
export function sendSignal(
  pid: number,
  name: "SIGTERM" | "SIGKILL",
): "sent" | "gone" | "forbidden" {
  try {
    Deno.kill(pid, name);
    return "sent";
  } catch (error) {
    if (isGone(error)) return "gone";
    if (error instanceof Deno.errors.PermissionDenied) return "forbidden";
    throw error;
  }
}

/** True while a process is suspended, as by Ctrl-Z. */
export function isStopped(pid: number): boolean {
  return /^[Tt]/.test(fact(pid, "state") ?? "");
}

export function parentOf(pid: number): number | undefined {
  return positive(fact(pid, "parent"));
}

/** The process group, by which a terminal knows a job. */
export function groupOf(pid: number): number | undefined {
  return positive(fact(pid, "group"));
}

/** True also for the process itself: it belongs to its own tree. */
export function isDescendant(pid: number, ancestor: number): boolean {
  let at: number | undefined = pid;
  for (let climbed = 0; at !== undefined && climbed < GENERATIONS_MAX; climbed++) {
    if (at === ancestor) return true;
    at = parentOf(at);
  }
  return false;
}

/** The process group in front of the terminal that `pane_pid` runs in: it reads what is typed. */
export function foregroundOf(pane_pid: number): number | undefined {
  return positive(fact(pane_pid, "foreground"));
}

/** Whether a process has a controlling terminal. */
export function hasTerminal(pid: number): boolean {
  return positive(fact(pid, "terminal")) !== undefined;
}

/** The program's short name, e.g. `claude`. */
export function commandOf(pid: number): string | undefined {
  if (isMac()) return ps(pid, "comm")?.replace(/^.*\//, "");
  return readProc(pid, "comm")?.trimEnd();
}

/** The program and its arguments; on macOS split at spaces, as `ps` prints them. */
export function argumentsOf(pid: number): readonly string[] | undefined {
  if (isMac()) return ps(pid, "args")?.split(/\s+/);
  const line = readProc(pid, "cmdline");
  return line === undefined ? undefined : line.replace(/\0$/, "").split("\0");
}

type Fact = keyof typeof STAT;

const PS_COLUMN: Record<Fact, string> = {
  state: "state",
  parent: "ppid",
  group: "pgid",
  terminal: "tdev",
  foreground: "tpgid",
  started: "lstart",
};

function fact(pid: number, name: Fact): string | undefined {
  return facts(pid, [name])[0];
}

/** Several, which /proc tells at once. */
function facts(pid: number, names: readonly Fact[]): (string | undefined)[] {
  if (isMac()) return names.map((name) => ps(pid, PS_COLUMN[name]));
  const stat = readProc(pid, "stat");
  return stat === undefined ? [] : factsIn(stat, names);
}

function factsIn(stat: string, names: readonly Fact[]): (string | undefined)[] {
  // The name may itself hold spaces and brackets: fields count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", STAT.started + 1);
  return names.map((name) => fields[STAT[name]]);
}

function readProc(pid: number, file: string): string | undefined {
  if (!isPid(pid)) return undefined;
  try {
    return Deno.readTextFileSync(`/proc/${pid}/${file}`);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isPid(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 0;
}

/** The process is no more, or ended while it was read (ESRCH, of an open file in words only). */
export function isGone(error: unknown): boolean {
  if (error instanceof Deno.errors.NotFound) return true;
  if (!(error instanceof Error)) return false;
  return "code" in error ? error.code === "ESRCH" : error.message.endsWith("(os error 3)");
}

function ps(pid: number, column: string): string | undefined {
  const { success, stdout } = new Deno.Command("ps", {
    args: ["-o", `${column}=`, "-p", String(pid)],
    stderr: "null",
  }).outputSync();
  const text = new TextDecoder().decode(stdout).trim();
  return success && text !== "" ? text : undefined;
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function isMac(): boolean {
  return Deno.build.os === "darwin";
}
