/**
 * Programs that we start and end. Each runs in a session of its own and carries a mark in its
 * environment, so that it is ended with all that it has started: what stays in the session, and on
 * Linux also what has left it (`setsid`, a double fork), unless that has replaced its environment.
 */

import { type Clock, randomIds } from "kit/core/clock.ts";
import { pause, timeout } from "kit/core/timeout.ts";
import {
  environmentOf,
  isAlive,
  isGone,
  isMac,
  processIds,
  sendSignal,
  type Sent,
  sessionLeaderOf,
  type Signal,
} from "./processes.ts";

/** The variable with the mark. What a marked program starts inherits it. */
const MARK = "MESH_PROGRAM";
/** How long the processes may take to end after SIGTERM, and after SIGKILL. */
const END_MS = { SIGTERM: 2_000, SIGKILL: 2_000 } as const;
const POLL_MS = 25;
/** How long output may take to end after the program: another process may hold its pipe open. */
const OUTPUT_MS_MAX = 2_000;
/** How much of each output is kept: its last bytes. */
const OUTPUT_BYTES_MAX = 16_384;

export function newMark(): string {
  return randomIds.hex(16);
}

export interface StartOptions
  extends Pick<Deno.CommandOptions, "cwd" | "stderr" | "stdin" | "stdout"> {
  /** Its whole environment; ours if it is left out. */
  readonly env?: Readonly<Record<string, string>>;
  /** False for a program that a terminal's Ctrl-C should reach: it stays in our session. */
  readonly own_session?: boolean;
}

/** A program that runs, with everything that it has started. */
export class ProgramGroup {
  readonly child: Deno.ChildProcess;
  readonly mark: string;
  readonly #session: number | undefined;

  /** Starts a program. Throws if there is none. */
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
  }

  /** Ends all processes. Returns the pids of those that still run, such as another user's. */
  end(clock: Clock): Promise<readonly number[]> {
    return endProcesses(clock, { session: this.#session, mark: this.mark });
  }
}

interface Search {
  /** The session of a program that leads one. */
  readonly session?: number | undefined;
  readonly mark: string;
}

/** Ends all processes with a mark, and those of a session. Returns the pids that remain. */
export async function endProcesses(clock: Clock, search: Search): Promise<readonly number[]> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    // What is started between the search and the signal is found by the next search.
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
  if (isMac() && session !== undefined) signalGroup(session, signal);
}

/** Without /proc, a session's processes are only known as the group of its leader. */
function signalGroup(leader: number, signal: Signal | "SIGCONT"): Sent {
  try {
    Deno.kill(-leader, signal);
    return "sent";
  } catch (error) {
    if (isGone(error)) return "gone";
    if (error instanceof Deno.errors.PermissionDenied) return "forbidden";
    throw error;
  }
}

function find({ session, mark }: Search): readonly number[] {
  if (isMac()) {
    return session !== undefined && signalGroup(session, "SIGCONT") === "sent" ? [session] : [];
  }
  return processIds().filter((pid) =>
    pid !== Deno.pid && isAlive(pid) &&
    (session !== undefined && sessionLeaderOf(pid) === session ||
      environmentOf(pid)?.get(MARK) === mark)
  );
}

export interface RunOptions extends Pick<StartOptions, "cwd" | "env"> {
  readonly clock: Clock;
  readonly timeout_ms: number;
  readonly signal?: AbortSignal;
  readonly input?: string | undefined;
  /** The mark, for a caller that wants to find the program after a crash of its own. */
  readonly mark?: string;
}

export interface RunResult {
  /** Null if a signal ended it, or if it was ended because its time was over. */
  readonly code: number | null;
  readonly timed_out: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, as they came. */
  readonly output: string;
}

/**
 * Runs a program to its end, or ends it with all that it has started once its time is over or the
 * signal aborts. What a program leaves behind when it ends by itself goes on. Throws if there is no
 * such program.
 */
export async function runProgram(
  argv: readonly string[],
  { clock, timeout_ms, signal, input, mark, ...options }: RunOptions,
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
  const status = await timeout(clock, timeout_ms, child.status, signal);
  if (!status) await group.end(clock);
  await timeout(clock, OUTPUT_MS_MAX, read);
  await Promise.all(readers.map((reader) => reader.cancel()));
  return {
    code: status && status.signal === null ? status.code : null,
    timed_out: !status,
    stdout: out.text(),
    stderr: err.text(),
    output: both.text(),
  };
}

/** Ignores a closed pipe: a program that ends early says why in its output. */
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
