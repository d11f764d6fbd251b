/** The version of another mesh, by starting it. */

import { systemClock } from "kit/core/clock.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { runProgram } from "../../daemon/host/program_group.ts";

/** Time limit for a program to print its version. */
const VERSION_MS_MAX = 10_000;

/** The version that a mesh prints once it runs; undefined if it does not start. */
export async function versionOf(path: string, env: Env): Promise<string | undefined> {
  const options = { env: { ...env }, clock: systemClock, timeout_ms: VERSION_MS_MAX };
  // A launcher answers a plain `--version` itself, which would not show that mesh starts.
  const { code, stdout } = await runProgram([path, "--verbose", "--version"], options);
  return code === 0 ? stdout.trim() : undefined;
}
