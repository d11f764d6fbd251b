/** Whether a program is there to be run, found as env(1) finds it. Nothing is run. */

import { resolve } from "node:path";

/** What is to be run: assignments, the program, its arguments. */
export interface Line {
  readonly argv: readonly string[];
  readonly cwd: string;
}

/** The search path that the assignments before a program set; undefined where they set none. */
export function pathIn(argv: readonly string[]): string | undefined {
  const assigned = argv.slice(0, programAt(argv));
  return assigned.findLast((word) => word.startsWith("PATH="))?.slice("PATH=".length);
}

/** `paths` are search paths; of a program that is named by its place they say nothing. */
export async function isThere({ argv, cwd }: Line, paths: readonly string[]): Promise<boolean> {
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
    if (error instanceof Deno.errors.PermissionDenied) return true; // Whoever runs it will know.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    if (error instanceof Deno.errors.FilesystemLoop) return false;
    throw error;
  }
}
