/** The doctor's access to this machine: files, programs, disk space and the clock. */

import { statfsSync } from "node:fs";
import { join } from "kit/core/path.ts";
import type { Clock } from "kit/core/clock.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { unlessRejected } from "../client/failures.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { runProgram } from "../../daemon/host/program_group.ts";

/** Time limit of a program, which is then ended. */
const PROGRAM_MS_MAX = 5_000;

export type Machine = ReturnType<typeof thisMachine>;

/** `program_ms_max` is the time limit of a program that it runs. */
export function thisMachine(env: Env, clock: Clock, program_ms_max = PROGRAM_MS_MAX) {
  const ifAccessible = <A>(work: () => A) => unlessError(isInaccessible, work);
  const stat = (path: string) => ifAccessible(() => Deno.statSync(path));
  return {
    env,
    clock,
    /** Undefined when the path is missing or not accessible. */
    stat,
    /** Undefined when the file is missing or not readable. */
    text: (path: string) => ifAccessible(() => Deno.readTextFileSync(path)),
    /** The names in a directory; empty when it is not readable. */
    names: (path: string) =>
      ifAccessible(() => Array.from(Deno.readDirSync(path), ({ name }) => name)) ?? [],
    /** Free bytes on the disk of a path; undefined when unknown. */
    freeBytes: (path: string) =>
      ifAccessible(() => {
        const { bavail, bsize } = statfsSync(path);
        return bavail * bsize;
      }),
    /** The path of a program that is on the `PATH`. */
    find: (program: string) =>
      (env["PATH"] ?? "").split(":").filter(Boolean).map((dir) => join(dir, program))
        .find((path) => isProgram(stat(path))),
    /**
     * Runs a program; undefined when it is missing or exceeds its time limit. The output is that to
     * standard output, followed by that to standard error.
     */
    run: (program: string, args: readonly string[], input?: string) =>
      run(program, args, { env, clock, input, timeout_ms: program_ms_max }),
  };
}

/** The first version number in a program's output, without a full stop after it. */
export function parseVersion(output: string): string | undefined {
  return /(?<!\d)\d+\.\d+(?:\S*\w)?/.exec(output)?.[0];
}

export function isProgram(info: Deno.FileInfo | undefined): boolean {
  return info !== undefined && info.isFile && (info.mode === null || (info.mode & 0o111) !== 0);
}

async function run(
  program: string,
  args: readonly string[],
  options: Parameters<typeof runProgram>[1],
) {
  const ran = await unlessRejected(isInaccessible, () => runProgram([program, ...args], options));
  if (!ran || ran.timed_out) return undefined;
  return { success: ran.code === 0, output: `${ran.stdout}${ran.stderr}`.trim() };
}

/** True if the path is missing or access to it was refused. Any other error is a bug. */
export function isInaccessible(error: unknown): boolean {
  const { NotFound, PermissionDenied, NotADirectory, IsADirectory, FilesystemLoop } = Deno.errors;
  const kinds = [NotFound, PermissionDenied, NotADirectory, IsADirectory, FilesystemLoop];
  return kinds.some((kind) => error instanceof kind) ||
    (error instanceof Error && "code" in error && typeof error.code === "string");
}
