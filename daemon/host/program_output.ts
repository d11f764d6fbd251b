/** Runs programs whose output may be large: the beginning of the output is kept, as bytes. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { ProgramGroup } from "./program_group.ts";
import type { StartedPrograms } from "./programs.ts";
import { newMark } from "./program_group.ts";

export interface ProgramOutput {
  /** Null if the program could not run, or was ended. */
  readonly exit: number | null;
  /** The beginning of its standard output. */
  readonly bytes: Uint8Array;
  /** The limit at which the program was ended; `aborted` if the caller gave up. */
  readonly ended_at: "time" | "bytes" | "aborted" | null;
}

export interface OutputOptions {
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string | undefined;
  readonly timeout_ms: number;
  readonly bytes_max: number;
  readonly signal: AbortSignal;
}

/** Never throws for anything that the program does. */
export type ReadOutput = (
  argv: readonly string[],
  options: OutputOptions,
) => Promise<ProgramOutput>;

/** Maximum memory of a program in kilobytes, where the system can limit it. */
const MEMORY_KB_MAX = 2_097_152;
/** Limits the memory and the processor time of the program, and lets others run first. */
const LIMITED = 'ulimit -v "$1" 2>/dev/null; ulimit -t "$2" 2>/dev/null; shift 2; exec nice "$@"';
const NOT_FOUND = 127;

/** Programs run with low priority. If this daemon is killed, the next one ends them. */
export function outputReaderOf(clock: Clock, started?: StartedPrograms): ReadOutput {
  return async (argv, { timeout_ms, bytes_max, signal, input = "", ...options }) => {
    if (signal.aborted) return failed("aborted");
    const mark = newMark();
    using _noted = started?.add(mark);
    const limits = [String(MEMORY_KB_MAX), String(Math.ceil(timeout_ms / 1000))];
    const group = start(["/bin/sh", "-c", LIMITED, "sh", ...limits, ...argv], options, mark);
    if (!group) return failed(null);
    const { child } = group;
    const reader = child.stdout.getReader();
    const parts: Uint8Array[] = [];
    const read = async () => {
      let left = bytes_max;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "all";
        parts.push(value.subarray(0, left));
        left -= value.length;
        if (left < 0) return "bytes";
      }
    };
    const written = writeInput(child.stdin, input);
    const outcome = await timeout(clock, timeout_ms, read(), signal);
    const ended_at = outcome === "all"
      ? null
      : outcome ?? (signal.aborted ? "aborted" as const : "time" as const);
    if (ended_at !== null) await group.end(clock);
    await reader.cancel();
    await written;
    const { code, signal: by } = await child.status;
    return { exit: ended_at === null && by === null ? code : null, bytes: join(parts), ended_at };
  };
}

/** True if the program is not installed. */
export function isNotInstalled({ exit }: ProgramOutput): boolean {
  return exit === NOT_FOUND;
}

function failed(ended_at: ProgramOutput["ended_at"]): ProgramOutput {
  return { exit: null, bytes: new Uint8Array(), ended_at };
}

function start(
  argv: readonly string[],
  options: Pick<OutputOptions, "cwd" | "env">,
  mark: string,
): ProgramGroup | undefined {
  try {
    return new ProgramGroup(
      argv,
      { ...options, stdin: "piped", stdout: "piped", stderr: "null" },
      mark,
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A program that ends early does not read its input. */
async function writeInput(stdin: WritableStream<Uint8Array>, input: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    if (input !== "") await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
