/** Runs programs that the configuration names: without a shell, with limits on time and output. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { fs } from "kit/host/node_library.ts";
import { withoutSecrets } from "./tmux/terminals.ts";
import { startTimeOf, terminate } from "./processes.ts";

/** How much of a running program's output is kept: its last bytes. */
const OUTPUT_BYTES_MAX = 16_384;
/** How long a program may take to end after SIGTERM, and its output to end after the program. */
const GRACE_MS = 2_000;

/**
 * The result of a program. `exit` is null if the program could not be run, or if the daemon or a
 * signal ended it.
 */
export interface ProgramResult {
  readonly exit: number | null;
  readonly output: string;
}

export interface ProgramRunner {
  /**
   * Runs a program in a folder. Never throws for anything that the program does. `cwd` is the real
   * path that the caller approved; if that path contains a symbolic link by now, nothing runs.
   */
  run(
    argv: readonly string[],
    options: { readonly cwd: string; readonly timeout_ms: number; readonly signal: AbortSignal },
  ): Promise<ProgramResult>;
}

/** Runs programs on this machine. Secrets of mesh are removed from their environment. */
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
        return { exit: null, output: `The program could not be run: ${error.message}` };
      }
    },
  };
}

/**
 * On Linux, holds a folder open and returns a path that always leads to this folder. The program
 * therefore starts in the folder that was checked, even if somebody renames that folder and puts a
 * link in its place. Elsewhere, only checks that the path contains no link now.
 */
function openFolder(path: string): Disposable & { readonly path: string } {
  if (Deno.build.os !== "linux") {
    if (Deno.realPathSync(path) !== path) throw new Error(`"${path}" is a link now`);
    return { path, [Symbol.dispose]: () => undefined };
  }
  const { closeSync, constants, openSync } = fs();
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

/** Waits for a program to end, or ends it. Does not wait for processes that the program started. */
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
  // The program has ended, so its own output is complete. A child process may hold the pipe open
  // for ever, so this wait is limited.
  await timeout(clock, GRACE_MS, read);
  await Promise.all(readers.map((reader) => reader.cancel()));
  if (!status) return { exit: null, output: `${tail.text()}\nThe program took too long: ended` };
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
