/** Acceptance checks: programs that the configuration names, run in the job's folder. */

import type { Check, FireDeps } from "./deps.ts";

/** How much of a check's output is kept. */
const TAIL_CHARS_MAX = 4096;

/** What came of one check; `exit` is null where it could not be run, or took too long. */
export interface Outcome {
  readonly name: string;
  readonly exit: number | null;
  readonly output_tail: string;
}

type CheckDeps = Pick<FireDeps, "folder" | "run">;

/** Runs the named checks, one after the other; the first that fails ends it. */
export async function runChecks(
  names: readonly string[],
  path: string | null,
  { checks, ...deps }: CheckDeps & Pick<FireDeps, "checks">,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const name of names) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const outcome = await runOne(name, path, { check, ...deps });
    outcomes.push(outcome);
    if (outcome.exit !== 0) break;
  }
  return outcomes;
}

/**
 * The path may be a peer's own word, and an agent can put a link where the folder was. So every run
 * resolves the path again and holds the result to `spawn.allowed_paths`.
 */
async function runOne(
  name: string,
  path: string | null,
  { check, folder, run }: CheckDeps & { check: Check | undefined },
): Promise<Outcome> {
  const notRun = (output_tail: string) => ({ name, exit: null, output_tail });
  if (!check) return notRun("jobs.checks names no such check any more");
  if (path === null) return notRun("The job has no folder to run it in");
  const found = await folder(path);
  if (!found.ok) {
    return notRun(
      `The check was not run in "${path}": ${found.why}. Add a folder that holds it there.`,
    );
  }
  const options = { cwd: found.folder, timeout_ms: check.timeout_seconds * 1000 };
  const { exit, output } = await run(check.argv, options);
  return { name, exit, output_tail: output.slice(-TAIL_CHARS_MAX).toWellFormed() };
}
