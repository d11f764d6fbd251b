/**
 * Starts and ends programs. Each runs in its own session, with a mark in its environment, so that
 * all processes that it started end with it. A process that has left the session (`setsid`, a
 * double fork) is found by the mark: only on Linux, and only if it kept its environment.
 */

import { type Clock, randomIds } from "kit/core/clock.ts";
import { pause, timeout } from "kit/core/timeout.ts";
import { exceededLimit, type ProgramLimits } from "./program_limits.ts";
import {
  environmentOf,
  isAlive,
  isMac,
  type ProcessId,
  processIdOf,
  processIds,
  sendSignal,
  sessionLeaderOf,
  type Signal,
  startTimeOf,
  treeOf,
} from "./processes.ts";

/** The variable with the mark. Child processes inherit it. */
const MARK = "MESH_PROGRAM";
/** Time limits for the processes to end after SIGTERM, and after SIGKILL. */
const END_MS: Readonly<Record<Signal, number>> = { SIGTERM: 2_000, SIGKILL: 2_000 };
const POLL_MS = 25;
/** Maximum descendants that are looked up. */
const TREE_PIDS_MAX = 10_000;
/** Time limit for the output after the program's end: another process may hold the pipe open. */
const OUTPUT_MS_MAX = 2_000;
/** Maximum size of each output that is kept: its last bytes. */
const OUTPUT_BYTES_MAX = 16_384;

export function newMark(): string {
  return randomIds.hex(16);
}

interface StartOptions extends Pick<Deno.CommandOptions, "cwd" | "stderr" | "stdin" | "stdout"> {
  /** The whole environment of the program; default: ours. */
  readonly env?: Readonly<Record<string, string>>;
  /** If false, the program stays in our session, so that Ctrl-C in a terminal reaches it. */
  readonly own_session?: boolean;
}

/** A running program, with all processes that it started. */
export class ProgramGroup {
  readonly child: Deno.ChildProcess;
  readonly mark: string;
  readonly #session: number | undefined;
  #hasEnded = false;

  /** Starts a program. Throws if it does not exist. */
  constructor(
    [program = "", ...args]: readonly string[],
    { env, own_session = true, ...options }: StartOptions,
    mark = newMark(),
  ) {
    this.mark = mark;
    this.child = new Deno.Command(program, {
      ...options,
      args,
      env: { ...env, [MARK]: mark },
      clearEnv: env !== undefined,
      detached: own_session,
    }).spawn();
    this.#session = own_session ? this.child.pid : undefined;
    void this.child.status.then(() => this.#hasEnded = true);
  }

  /** True for a process of its session, or with its mark. */
  isMember(pid: number): boolean {
    return isMember(pid, { session: this.#session, mark: this.mark });
  }

  /** Ends all processes. Returns the pids of those that still run, such as another user's. */
  end(clock: Clock, signals?: readonly Signal[]): Promise<readonly number[]> {
    return endProcesses(clock, this.#search(), signals);
  }

  /** A sandbox may clear the environment of its processes, and start a session of its own. */
  #search(): Search {
    const tree = this.#hasEnded || isMac() ? [] : [...treeOf(this.child.pid, TREE_PIDS_MAX)];
    const descendants = tree.flatMap((pid) => processIdOf({ startTimeOf }, pid) ?? []);
    return { session: this.#session, mark: this.mark, descendants };
  }
}

interface Search {
  /** The session, if the program leads one. */
  readonly session?: number | undefined;
  readonly mark: string;
  /** Processes that descended from the program when the search began. */
  readonly descendants?: readonly ProcessId[];
}

/** Ends all processes that have the mark or belong to the session. Returns the pids that remain. */
export async function endProcesses(
  clock: Clock,
  search: Search,
  signals: readonly Signal[] = ["SIGTERM", "SIGKILL"],
): Promise<readonly number[]> {
  for (const signal of signals) {
    // A process that starts between the search and the signal is found by the next search.
    for (let waited_ms = 0; waited_ms < END_MS[signal]; waited_ms += POLL_MS) {
      const running = find(search);
      if (running.length === 0) return [];
      if (waited_ms === 0 || signal === "SIGKILL") send(signal, running, search);
      await pause(clock, POLL_MS);
    }
  }
  return find(search);
}

function send(signal: Signal, pids: readonly number[], { session }: Search): void {
  for (const pid of pids) sendSignal(pid, signal);
  // Without /proc, the processes of a session are known only as the process group of its leader.
  if (isMac() && session !== undefined) sendSignal(-session, signal);
}

function find({ session, mark, descendants = [] }: Search): readonly number[] {
  if (isMac()) {
    return session !== undefined && sendSignal(-session, "SIGCONT") === "sent" ? [session] : [];
  }
  const tree = descendants.filter(({ pid, started }) => isAlive(pid, started));
  const marked = processIds().filter((pid) =>
    pid !== Deno.pid && isAlive(pid) && isMember(pid, { session, mark })
  );
  return [...new Set([...tree.map(({ pid }) => pid), ...marked])];
}

function isMember(pid: number, { session, mark }: Search): boolean {
  return session !== undefined && sessionLeaderOf(pid) === session ||
    environmentOf(pid)?.get(MARK) === mark;
}

export interface RunOptions extends Pick<StartOptions, "cwd" | "env"> {
  readonly clock: Clock;
  readonly timeout_ms: number;
  readonly signal?: AbortSignal;
  readonly input?: string | undefined;
  /** The mark, for a caller that must find the program after its own crash. */
  readonly mark?: string;
  /** True to end the processes that the program leaves behind, too. */
  readonly leaves_none?: boolean;
  readonly limits?: ProgramLimits | undefined;
}

export interface RunResult {
  /** Null if a signal ended the program, or if it timed out. */
  readonly code: number | null;
  readonly timed_out: boolean;
  /** A sentence on the limit that the program exceeded, so that it was ended. */
  readonly exceeded: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Both outputs, in the order of arrival. */
  readonly output: string;
}

/**
 * Runs a program to its end. After the timeout, beyond a limit, or if the signal aborts, ends it
 * with all processes that it started. If the program ends by itself, processes that it leaves
 * behind go on, except with `leaves_none`. Throws if the program does not exist.
 */
export async function runProgram(
  argv: readonly string[],
  { clock, timeout_ms, signal, input, mark, leaves_none = false, limits, ...options }: RunOptions,
): Promise<RunResult> {
  const stdin = input === undefined ? "null" : "piped";
  const piped = { stdin, stdout: "piped", stderr: "piped" } as const;
  const group = new ProgramGroup(argv, { ...options, ...piped }, mark);
  const { child } = group;
  const [both, out, err] = [new Tail(), new Tail(), new Tail()];
  const readers = [child.stdout, child.stderr].map((stream) => stream.getReader());
  const read = Promise.all(
    readers.map((reader, at) => readInto(reader, [both, at === 0 ? out : err])),
  );
  if (input !== undefined) void writeInput(child, input);
  const measured = {
    pid: child.pid,
    folder: String(options.cwd ?? "."),
    clock,
    isMember: (pid: number) => group.isMember(pid),
  };
  const ending = (signal: AbortSignal) =>
    Promise.race([
      child.status,
      ...limits ? [exceededLimit(limits, { ...measured, signal })] : [],
    ]);
  const ended = await timeout(clock, timeout_ms, ending, signal);
  const exceeded = typeof ended === "string" ? ended : undefined;
  const status = typeof ended === "string" ? undefined : ended;
  // Time to tidy up would be time to take more.
  if (!status || leaves_none) await group.end(clock, exceeded ? ["SIGKILL"] : undefined);
  await timeout(clock, OUTPUT_MS_MAX, read);
  await Promise.all(readers.map((reader) => reader.cancel()));
  return {
    code: status && status.signal === null ? status.code : null,
    timed_out: !status && exceeded === undefined,
    exceeded,
    stdout: out.text(),
    stderr: err.text(),
    output: both.text(),
  };
}

/** Ignores a closed pipe: a program that ends early explains this in its output. */
async function writeInput(child: Deno.ChildProcess, input: string): Promise<void> {
  const writer = child.stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

async function readInto(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  tails: readonly Tail[],
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const tail of tails) tail.add(value);
  }
}

/** Keeps the last bytes of an output. */
class Tail {
  #bytes = new Uint8Array();

  add(chunk: Uint8Array): void {
    const all = new Uint8Array(this.#bytes.length + chunk.length);
    all.set(this.#bytes);
    all.set(chunk, this.#bytes.length);
    this.#bytes = all.slice(-OUTPUT_BYTES_MAX);
  }

  text(): string {
    return new TextDecoder().decode(this.#bytes);
  }
}
