/** Acceptance checks: programs that the configuration names, run in the job's folder. */

import type { Check, FireNeeds } from "./needs.ts";

/** How much of a check's output is kept. */
const TAIL_CHARS_MAX = 4096;

/** What came of one check; `exit` is null where it could not be run, or took too long. */
export interface Outcome {
  readonly name: string;
  readonly exit: number | null;
  readonly output_tail: string;
}

/** Runs the named checks, one after the other; the first that fails ends it. */
export async function runChecks(
  names: readonly string[],
  cwd: string | null,
  { checks, run }: Pick<FireNeeds, "checks" | "run">,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const name of names) {
    const outcome = await runOne(name, cwd, { check: checks[name], run });
    outcomes.push(outcome);
    if (outcome.exit !== 0) break;
  }
  return outcomes;
}

async function runOne(
  name: string,
  cwd: string | null,
  { check, run }: { check: Check | undefined; run: FireNeeds["run"] },
): Promise<Outcome> {
  const no = (output_tail: string) => ({ name, exit: null, output_tail });
  if (!check) return no("jobs.checks names no such check any more");
  if (cwd === null) return no("The job has no folder to run it in");
  const { exit, output } = await run(check.argv, { cwd, timeout_ms: check.timeout_seconds * 1000 });
  return { name, exit, output_tail: output.slice(-TAIL_CHARS_MAX).toWellFormed() };
}
