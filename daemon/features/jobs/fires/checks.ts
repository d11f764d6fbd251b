/** Acceptance checks: programs that the configuration names, run in the job's folder. */

import type { Check, FireNeeds } from "./deps.ts";

/** How much of a check's output is kept. */
const TAIL_CHARS_MAX = 4096;

/** What came of one check; `exit` is null where it could not be run, or took too long. */
export interface Outcome {
  readonly name: string;
  readonly exit: number | null;
  readonly output_tail: string;
}

type CheckNeeds = Pick<FireNeeds, "folder" | "run">;

/** Runs the named checks, one after the other; the first that fails ends it. */
export async function runChecks(
  names: readonly string[],
  path: string | null,
  { checks, ...needs }: CheckNeeds & Pick<FireNeeds, "checks">,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const name of names) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const outcome = await runOne(name, path, { check, ...needs });
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
  { check, folder, run }: CheckNeeds & { check: Check | undefined },
): Promise<Outcome> {
  const no = (output_tail: string) => ({ name, exit: null, output_tail });
  if (!check) return no("jobs.checks names no such check any more");
  if (path === null) return no("The job has no folder to run it in");
  const found = await folder(path);
  if (!found.ok) {
    return no(
      `The check was not run in "${path}": ${found.why}. Add a folder that holds it there.`,
    );
  }
  const where = { cwd: found.folder, timeout_ms: check.timeout_seconds * 1000 };
  const { exit, output } = await run(check.argv, where);
  return { name, exit, output_tail: output.slice(-TAIL_CHARS_MAX).toWellFormed() };
}
