/**
 * Runs programs that the configuration names: without a shell, with limits on time and output. They
 * are recorded in files, because a daemon that was killed cannot end what it started.
 */

import type { Clock } from "kit/core/clock.ts";
import { fs } from "kit/host/node_library.ts";
import { withoutSecrets } from "./tmux/terminals.ts";
import { endProcesses, newMark, runProgram } from "./program_group.ts";
import type { ProgramLimits } from "./program_limits.ts";
import type { Log } from "kit/core/log.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** A program's result. `exit` is null if it could not run, or the daemon or a signal ended it. */
export interface ProgramResult {
  readonly exit: number | null;
  readonly output: string;
  /** A sentence: why there is no exit code. */
  readonly reason?: string;
}

interface ProgramOptions {
  readonly cwd: string;
  readonly timeout_ms: number;
  readonly signal: AbortSignal;
  readonly limits?: ProgramLimits;
}

export interface ProgramRunner {
  /**
   * Runs a program in a folder, and ends all processes that it leaves behind. Never throws for
   * anything that the program does. `cwd` is the real path that the caller approved; if that path
   * contains a symbolic link by now, nothing runs.
   */
  run(argv: readonly string[], options: ProgramOptions): Promise<ProgramResult>;
}

/**
 * Runs programs on this machine, without the secrets of mesh in their environment. If this daemon
 * is killed, the next daemon ends the programs that `started` lists.
 */
export function programRunnerOf(
  clock: Clock,
  env: Readonly<Record<string, string>>,
  started?: StartedPrograms,
): ProgramRunner {
  const clean = withoutSecrets(env);
  return {
    async run(argv, { cwd, timeout_ms, signal, limits }) {
      try {
        using folder = openFolder(cwd);
        const mark = newMark();
        using _noted = started?.add(mark);
        const ends = { timeout_ms, signal, leaves_none: true, limits };
        const options = { cwd: folder.path, env: clean, clock, mark, ...ends };
        const { code: exit, timed_out, exceeded, output } = await runProgram(argv, options);
        if (exit !== null) return { exit, output };
        const late = `It took longer than ${timeout_ms / 1000} seconds`;
        return { exit, output, reason: exceeded ?? (timed_out ? late : "A signal ended it") };
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        return { exit: null, output: "", reason: `It could not be started: ${error.message}` };
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

const MARK = /^[0-9a-f]{32}$/;

/** One empty file for each running program, named by its mark. */
export class StartedPrograms {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a program until it ends. */
  add(mark: string): Disposable {
    const path = `${this.#folder}/${mark}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, "", { mode: 0o600 });
    return { [Symbol.dispose]: () => Deno.removeSync(path) };
  }

  /**
   * Ends the programs that the last daemon left behind, with all processes that they started. Finds
   * nothing on macOS, where a process cannot read the environment of others.
   */
  async endLeft(clock: Clock, log: Log): Promise<void> {
    for (const mark of this.#marks()) {
      const left = await endProcesses(clock, { mark });
      if (left.length > 0) log.warn("A program of the last daemon does not end", { pids: left });
      Deno.removeSync(`${this.#folder}/${mark}`);
    }
  }

  #marks(): string[] {
    const files = unlessMissing(() => [...Deno.readDirSync(this.#folder)]) ?? [];
    return files.map(({ name }) => name).filter((name) => MARK.test(name));
  }
}
