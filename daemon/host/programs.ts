/** Runs programs that the configuration names: without a shell, with limits on time and output. */

import { closeSync, constants, openSync } from "node:fs";
import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { withoutSecrets } from "./tmux/terminals.ts";
import { startTimeOf, terminate } from "./processes.ts";

/** The last bytes of a running program's output that are kept. */
const OUTPUT_BYTES_MAX = 16_384;
/** How long a program may take to end after SIGTERM. */
const GRACE_MS = 2_000;

/** The result of a program; `exit` is null if it did not end by itself. */
export interface ProgramResult {
  readonly exit: number | null;
  readonly output: string;
}

export interface ProgramRunner {
  /**
   * Runs a program in a folder; never throws for anything the program does. `cwd` is the real path
   * that the caller approved: if it contains a symbolic link by now, nothing runs.
   */
  run(
    argv: readonly string[],
    options: { readonly cwd: string; readonly timeout_ms: number; readonly signal: AbortSignal },
  ): Promise<ProgramResult>;
}

/** Runs programs of this machine, without our secrets in their environment. */
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
 * Holds a folder open and gives a path that leads to it and nothing else: the program starts in the
 * folder that was checked, even if that is renamed and replaced by a link.
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

/** Waits for a program to end, or ends it; does not wait for processes that it leaves running. */
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
  // The program's own output is complete; a child of it may hold the pipe open for ever.
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
