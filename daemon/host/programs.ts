/** Programs that the configuration names: run without a shell, bounded in time and output. */

import { closeSync, constants, openSync } from "node:fs";
import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { withoutSecrets } from "./tmux/terminals.ts";
import { startTimeOf, terminate } from "./processes.ts";

/** What is kept of a program's output while it runs; all before is dropped. */
const OUTPUT_BYTES_MAX = 16_384;
/** How long a program may take to end once it was asked to. */
const GRACE_MS = 2_000;

/** What came of a program: `exit` is null where it did not end by itself. */
export interface ProgramResult {
  readonly exit: number | null;
  readonly output: string;
}

export interface ProgramRunner {
  /**
   * Runs a program in a folder; never throws for what a program may do. `cwd` is the real path that
   * the caller approved: where a link stands on it by now, nothing runs.
   */
  run(
    argv: readonly string[],
    options: { readonly cwd: string; readonly timeout_ms: number; readonly signal: AbortSignal },
  ): Promise<ProgramResult>;
}

/** The programs of this machine. Our own secrets stay out of their environment. */
export function programRunnerOf(
  clock: Clock,
  env: Readonly<Record<string, string>>,
): ProgramRunner {
  const clean = withoutSecrets(env);
  return {
    async run([program = "", ...args], { cwd, timeout_ms, signal }) {
      try {
        using folder = openFolder(cwd);
        const child = new Deno.Command(program, {
          args,
          cwd: folder.path,
          env: clean,
          clearEnv: true,
          stdin: "null",
          stdout: "piped",
          stderr: "piped",
        }).spawn();
        return await waitForProgram(child, clock, { timeout_ms, signal });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        return { exit: null, output: `It could not be run: ${error.message}` };
      }
    },
  };
}

/**
 * A folder that is held open, and a path that leads to it and to nothing else. So what was looked
 * at is where the program starts, even if the folder is renamed and a link put in its place.
 */
function openFolder(path: string): Disposable & { readonly path: string } {
  if (Deno.build.os !== "linux") {
    if (Deno.realPathSync(path) !== path) throw new Error(`"${path}" is a link now`);
    return { path, [Symbol.dispose]: () => undefined };
  }
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  const descriptor = openSync(path, flags);
  const held = {
    path: `/proc/${Deno.pid}/fd/${descriptor}`,
    [Symbol.dispose]: () => closeSync(descriptor),
  };
  if (Deno.readLinkSync(held.path) === path) return held;
  held[Symbol.dispose]();
  throw new Error(`"${path}" is a link now`);
}

/** Waits for a program's end, or brings it about; what it leaves running does not hold us. */
async function waitForProgram(
  child: Deno.ChildProcess,
  clock: Clock,
  { timeout_ms, signal }: { timeout_ms: number; signal: AbortSignal },
): Promise<ProgramResult> {
  const tail = new Tail();
  const readers = [child.stdout, child.stderr].map((stream) => stream.getReader());
  const read = Promise.all(readers.map((reader) => readInto(reader, tail)));
  const status = await timeout(clock, timeout_ms, child.status, signal);
  if (!status) await end(child.pid, clock);
  // What the program has written is there; a child of its own may hold the pipe for ever.
  await timeout(clock, GRACE_MS, read);
  await Promise.all(readers.map((reader) => reader.cancel()));
  if (!status) return { exit: null, output: `${tail.text()}\nIt took too long, and was ended` };
  return { exit: status.signal === null ? status.code : null, output: tail.text() };
}

async function end(pid: number, clock: Clock): Promise<void> {
  const started = startTimeOf(pid);
  if (started === undefined) return;
  await terminate({ pid, started }, { term_ms: GRACE_MS, kill_ms: GRACE_MS, clock });
}

async function readInto(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  tail: Tail,
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    tail.add(value);
  }
}

/** The last bytes of an output. */
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
