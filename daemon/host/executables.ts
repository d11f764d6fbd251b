/** Checks whether a program is installed, with the lookup rules of env(1). Runs nothing. */

import { resolve } from "kit/core/path.ts";

/** A command line in the form of env(1): assignments, then the program, then its arguments. */
interface CommandLine {
  readonly argv: readonly string[];
  readonly cwd: string;
}

/** The value of the last `PATH=` assignment before the program; undefined if there is none. */
export function assignedPath(argv: readonly string[]): string | undefined {
  const assigned = argv.slice(0, programAt(argv));
  return assigned.findLast((word) => word.startsWith("PATH="))?.slice("PATH=".length);
}

/** `paths` are search paths. If the program's name contains a slash, they are ignored. */
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
    // The file may exist, so it counts as installed. Starting it reports the cause.
    if (error instanceof Deno.errors.PermissionDenied) return true;
    const { FilesystemLoop, NotADirectory, NotFound } = Deno.errors;
    if ([FilesystemLoop, NotADirectory, NotFound].some((kind) => error instanceof kind)) {
      return false;
    }
    throw error;
  }
}
