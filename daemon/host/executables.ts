/** Whether a program is installed, looked up as env(1) does. Nothing is run. */

import { resolve } from "node:path";

/** A command as env(1) takes it: assignments, the program, its arguments. */
export interface CommandLine {
  readonly argv: readonly string[];
  readonly cwd: string;
}

/** The `PATH` that the assignments before the program set; undefined if none does. */
export function assignedPath(argv: readonly string[]): string | undefined {
  const assigned = argv.slice(0, programAt(argv));
  return assigned.findLast((word) => word.startsWith("PATH="))?.slice("PATH=".length);
}

/** `paths` are search paths; they are ignored for a program that is given with a path. */
export async function isInstalled(
  { argv, cwd }: CommandLine,
  paths: readonly string[],
): Promise<boolean> {
  const program = argv[programAt(argv)];
  if (!program) return false;
  if (program.includes("/")) return await isProgram(resolve(cwd, program));
  const folders = new Set(paths.flatMap((path) => path.split(":")).filter(Boolean));
  for (const folder of folders) {
    if (await isProgram(resolve(cwd, folder, program))) return true;
  }
  return false;
}

function programAt(argv: readonly string[]): number {
  const at = argv.findIndex((word) => !/^\w+=/.test(word));
  return at === -1 ? argv.length : at;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && (mode === null || (mode & 0o111) !== 0);
  } catch (error) {
    // Running it will report the cause.
    if (error instanceof Deno.errors.PermissionDenied) return true;
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    if (error instanceof Deno.errors.FilesystemLoop) return false;
    throw error;
  }
}
