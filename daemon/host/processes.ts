/** Facts about processes, read anew on each call: from /proc on Linux, from `ps` on macOS. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { unlessError, unlessMissing } from "kit/host/file_errors.ts";

/** Maximum number of ancestors that are followed. No pane has that many; the limit ends a cycle. */
const GENERATIONS_MAX = 64;

/**
 * Facts about a process. `at` is the position in `/proc/<pid>/stat`, counted after the bracketed
 * name: 0 is field 3 of proc(5). `column` is the name for `ps` on macOS.
 */
const STAT = {
  state: { at: 0, column: "state" },
  parent: { at: 1, column: "ppid" },
  group: { at: 2, column: "pgid" },
  session: { at: 3, column: "sess" },
  terminal: { at: 4, column: "tdev" },
  foreground: { at: 5, column: "tpgid" },
  started: { at: 19, column: "lstart" },
} as const;

/** A process's start time: clock ticks since boot on Linux, a date on macOS. */
export function startTimeOf(pid: number): string | undefined {
  return statField(pid, "started");
}

/** Maximum descendants whose writes are told apart from what else a process receives. */
const WRITERS_MAX = 50;

/**
 * Bytes that a process has read from files and sockets, without those that its descendants wrote.
 * A descendant that ends adds its own bytes. Undefined where the system does not count them.
 */
export function receivedBytes(pid: number): number | undefined {
  const [, ...descendants] = treeOf(pid, WRITERS_MAX);
  const read = transferred(pid, "rchar");
  if (read === undefined) return undefined;
  return descendants.reduce((rest, at) => rest - (transferred(at, "wchar") ?? 0), read);
}

/** Counters in `/proc/PID/io`. */
const COUNTERS = {
  rchar: /^rchar: (\d+)/m,
  wchar: /^wchar: (\d+)/m,
  write_bytes: /^write_bytes: (\d+)/m,
};

/** Bytes that a process has written to disks; undefined where the system does not count them. */
export function writtenBytes(pid: number): number | undefined {
  return transferred(pid, "write_bytes");
}

/** A counter of a process, which other systems than Linux do not have. */
function transferred(pid: number, counter: keyof typeof COUNTERS): number | undefined {
  if (isMac()) return undefined;
  const count = COUNTERS[counter].exec(readProcFile(`${pid}/io`) ?? "")?.[1];
  return count === undefined ? undefined : Number(count);
}

/** True if a process runs. Pass `started` if it is known, because the system reuses pids. */
export function isAlive(pid: number, started?: string): boolean {
  const [state, startTime] = statFields(pid, ["state", "started"]);
  if (state === undefined || /^[ZX]/.test(state)) return false;
  return started === undefined || startTime === started;
}

/** `isAlive`, or a cheaper function with the same meaning (`LivenessCache`). */
export type IsAlive = typeof isAlive;

/** How a process is ended. */
export type Signal = "SIGTERM" | "SIGKILL";
/** The result of sending a signal. `forbidden`: the process belongs to another user. */
export type SignalResult = "sent" | "gone" | "forbidden";

/** A negative pid is that of a process group's leader. */
export function sendSignal(pid: number, name: Signal | "SIGHUP" | "SIGCONT"): SignalResult {
  try {
    Deno.kill(pid, name);
    return "sent";
  } catch (error) {
    if (isGone(error)) return "gone";
    if (error instanceof Deno.errors.PermissionDenied) return "forbidden";
    throw error;
  }
}

/** Identifies one process permanently. A pid alone does not, because the system reuses pids. */
export interface ProcessId {
  readonly pid: number;
  readonly started: string;
}

/** Checks processes and sends signals. Tests pass a fake. */
export interface ProcessControl {
  isAlive(pid: number, started?: string): boolean;
  signal(pid: number, name: Signal): SignalResult;
}

/** The processes of this machine. A pid identifies a process only with its start time. */
export interface ProcessTable extends ProcessControl {
  startTimeOf(pid: number): string | undefined;
  parentOf(pid: number): number | undefined;
  /** A number for the controlling terminal; undefined without a terminal. */
  terminalOf(pid: number): number | undefined;
}

interface ExitWaitOptions {
  readonly clock: Clock;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
  readonly processes?: Pick<ProcessControl, "isAlive">;
}

interface TerminateOptions extends ExitWaitOptions {
  /** Maximum wait for the end of the process after SIGTERM. */
  readonly term_ms: number;
  /** Maximum wait after SIGKILL. Without this value, SIGKILL is not sent. */
  readonly kill_ms?: number;
  readonly processes?: ProcessControl;
}

/**
 * How `terminate` ended: with the signal that ended the process, with `gone` if the process had
 * ended before, or with the reason why the process still runs.
 */
export type Termination = Signal | "gone" | "forbidden" | "alive";

const SYSTEM_PROCESSES: ProcessControl = { isAlive, signal: sendSignal };
/** The interval between two checks in `waitForExit`. It starts at `min` and doubles up to `max`. */
const POLL_MS = { min: 25, max: 250 };

/** Ends a process with SIGTERM, then with SIGKILL. Stops and returns `alive` if `signal` aborts. */
export async function terminate(
  process: ProcessId,
  options: TerminateOptions,
): Promise<Termination> {
  const { term_ms, kill_ms, signal, processes = SYSTEM_PROCESSES } = options;
  for (const [name, ms] of [["SIGTERM", term_ms], ["SIGKILL", kill_ms]] as const) {
    if (ms === undefined || signal?.aborted) break;
    // There is no await between this check and the signal, so the pid cannot be reused in between.
    if (!processes.isAlive(process.pid, process.started)) return "gone";
    if (processes.signal(process.pid, name) === "forbidden") return "forbidden";
    if (await waitForExit(ms, process, options)) return name;
  }
  return "alive";
}

/** Waits for a process to end. False if it still runs after `ms`, or if `signal` aborts. */
export async function waitForExit(
  ms: number,
  { pid, started }: { readonly pid: number; readonly started?: string },
  { clock, signal, processes = SYSTEM_PROCESSES }: ExitWaitOptions,
): Promise<boolean> {
  const deadline = clock.monotonic() + ms;
  for (let poll_ms = POLL_MS.min; processes.isAlive(pid, started);) {
    const remaining_ms = deadline - clock.monotonic();
    if (remaining_ms <= 0 || signal?.aborted) return false;
    await pause(clock, Math.min(poll_ms, remaining_ms), signal);
    poll_ms = Math.min(poll_ms * 2, POLL_MS.max);
  }
  return true;
}

/** True while a process is suspended, e.g. by Ctrl-Z. */
export function isStopped(pid: number): boolean {
  return /^[Tt]/.test(statField(pid, "state") ?? "");
}

export function parentOf(pid: number): number | undefined {
  return toPositive(statField(pid, "parent"));
}

/** The process group. A terminal treats a group as one job. */
export function groupOf(pid: number): number | undefined {
  return toPositive(statField(pid, "group"));
}

/** The id of a running process; undefined if it does not run. */
export function processIdOf(
  { startTimeOf }: Pick<ProcessTable, "startTimeOf">,
  pid: number | undefined,
): ProcessId | undefined {
  const started = pid === undefined ? undefined : startTimeOf(pid);
  return pid !== undefined && started !== undefined ? { pid, started } : undefined;
}

/** A process and its ancestors, nearest first. Reads each parent only when it is needed. */
export function* lineageOf(
  { parentOf }: Pick<ProcessTable, "parentOf">,
  pid: number | undefined,
): Generator<number> {
  let at = pid;
  for (let depth = 0; at && depth < GENERATIONS_MAX; depth++) {
    yield at;
    at = parentOf(at);
  }
}

/** True if `pid` is `ancestor` itself or a descendant of it. */
export function isDescendant(pid: number, ancestor: number): boolean {
  return lineageOf({ parentOf }, pid).some((at) => at === ancestor);
}

/** The foreground process group of a pane's terminal. This group reads the typed keys. */
export function foregroundOf(pane_pid: number): number | undefined {
  return toPositive(statField(pane_pid, "foreground"));
}

/** A number for the controlling terminal. It is equal for processes that share a terminal. */
export function terminalOf(pid: number): number | undefined {
  return toPositive(statField(pid, "terminal"));
}

/** The leader of the process's session. Undefined on macOS, which does not report sessions. */
export function sessionLeaderOf(pid: number): number | undefined {
  return isMac() ? undefined : toPositive(statField(pid, "session"));
}

/** The pids of all running processes. Empty on macOS. */
export function processIds(): readonly number[] {
  if (isMac()) return [];
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter(isPid);
}

/** The pid that was given last, to a process or a thread. Undefined on macOS. */
export function lastPid(): number | undefined {
  return toPositive(readProcFile("loadavg")?.trim().split(" ").at(-1));
}

/** The pid of the process of a thread. The first thread of a process has the process's pid. */
export function processOfThread(tid: number): number {
  return Number(/^Tgid:\s+(\d+)/m.exec(readProcFile(`${tid}/status`) ?? "")?.[1] ?? tid);
}

/**
 * A process and its descendants, nearest first: at most `processes_max` pids. The children of a
 * process are looked up only if the caller needs more pids.
 */
export function* treeOf(pid: number, processes_max: number): Generator<number> {
  const tree = [pid];
  for (let at = 0; at < Math.min(tree.length, processes_max); at++) {
    const next = tree[at] ?? 0;
    yield next;
    if (tree.length < processes_max) tree.push(...childrenOf(next));
  }
}

function childrenOf(pid: number): number[] {
  if (!isPid(pid)) return [];
  if (isMac()) return pidsIn(outputOf("/usr/bin/pgrep", "-P", String(pid)) ?? "");
  const threads = unlessError(isUnreadable, () => [...Deno.readDirSync(`/proc/${pid}/task`)]) ?? [];
  return threads.flatMap(({ name }) => pidsIn(readProc(pid, `task/${name}/children`) ?? ""));
}

function pidsIn(text: string): number[] {
  return text.split(/\s+/).filter((word) => word !== "").map(Number);
}

/** The environment that a process was started with; undefined if it cannot be read. */
export function environmentOf(pid: number): ReadonlyMap<string, string> | undefined {
  if (!isPid(pid)) return undefined;
  const text = readProcFile(`${pid}/environ`);
  if (text === undefined) return undefined;
  return new Map(
    text.split("\0").map((pair): [string, string] => {
      const equals = pair.indexOf("=");
      return equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

/** The user that a process runs as; undefined if the process is gone. */
export function uidOf(pid: number): number | undefined {
  const uid = /^Uid:\s+\d+\s+(\d+)/m.exec(readProcFile(`${pid}/status`) ?? "")?.[1];
  return uid === undefined ? undefined : Number(uid);
}

/** The content of a file below /proc; undefined if it is absent or this user may not read it. */
export function readProcFile(path: string): string | undefined {
  return unlessError(isUnreadable, () => Deno.readTextFileSync(`/proc/${path}`));
}

/** True if an error means that the process has ended or belongs to another user. */
export function isUnreadable(error: unknown): boolean {
  return isGone(error) || error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable;
}

/** The program's short name, e.g. `claude`. */
export function commandOf(pid: number): string | undefined {
  if (isMac()) return ps(pid, "comm")?.replace(/^.*\//, "");
  return readProc(pid, "comm")?.trimEnd();
}

/** The program and its arguments. On macOS, `ps` prints one line, which is split at spaces. */
export function argumentsOf(pid: number): readonly string[] | undefined {
  if (isMac()) return ps(pid, "args")?.split(/\s+/);
  const line = readProc(pid, "cmdline");
  return line === undefined ? undefined : line.replace(/\0$/, "").split("\0");
}

type StatField = keyof typeof STAT;

function statField(pid: number, name: StatField): string | undefined {
  return statFields(pid, [name])[0];
}

/** Reads several fields at once (on Linux with a single read). */
function statFields(pid: number, names: readonly StatField[]): (string | undefined)[] {
  if (isMac()) return names.map((name) => ps(pid, STAT[name].column));
  const stat = readProc(pid, "stat");
  // The name may contain spaces and brackets, so the fields are counted from the last bracket.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ", STAT.started.at + 1);
  return names.map((name) => fields?.[STAT[name].at]);
}

function readProc(pid: number, file: string): string | undefined {
  if (!isPid(pid)) return undefined;
  return unlessError(isGone, () => Deno.readTextFileSync(`/proc/${pid}/${file}`));
}

export function isPid(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 0;
}

/**
 * True if an error means that the process had ended, or ended during the read (ESRCH). For a file
 * that is already open, Deno sets no code, so the message is checked.
 */
export function isGone(error: unknown): boolean {
  if (error instanceof Deno.errors.NotFound) return true;
  if (!(error instanceof Error)) return false;
  return "code" in error ? error.code === "ESRCH" : error.message.includes("(os error 3)");
}

function ps(pid: number, column: string): string | undefined {
  return outputOf("ps", "-o", `${column}=`, "-p", String(pid)) || undefined;
}

/** Folders of the system's own programs, which get none of the daemon's environment. */
const SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";

/** The output of a program, trimmed; undefined if there is no such program. */
export function outputOf(program: string, ...args: string[]): string | undefined {
  const command = new Deno.Command(program, {
    args,
    env: { PATH: SYSTEM_PATH },
    clearEnv: true,
    stderr: "null",
  });
  const done = unlessMissing(() => command.outputSync());
  return done && new TextDecoder().decode(done.stdout).trim();
}

function toPositive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

export function isMac(): boolean {
  return Deno.build.os === "darwin";
}
