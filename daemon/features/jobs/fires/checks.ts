/** Acceptance checks: the configured programs that run in a job's folder after its turn. */

import type { Context } from "../../../data/context.ts";
import { allowedFolder } from "../../spawn/folders.ts";
import { type JobReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { FireDeps } from "./deps.ts";
import * as attempts from "./store.ts";

/** The phase of a job whose checks run. */
export const CHECKING = "checking";
/** Characters stored from the end of a check's output. */
const TAIL_CHARS_MAX = 4096;

/** The outcome of one check; `exit` is null if it did not run or timed out. */
interface Outcome {
  readonly name: string;
  readonly exit: number | null;
  readonly output_tail: string;
}

/** Runs the checks of a job in phase `checking`, and settles the job by their outcome. */
export function startChecks(ctx: Context, deps: FireDeps, job: rows.StoredJob): void {
  const work = settleByChecks(ctx, deps, job);
  deps.running.add(
    work.catch((error) => ctx.log.error("The checks of a job failed to run", { error })),
  );
}

async function settleByChecks(
  { db }: Context,
  deps: FireDeps,
  { job_id, current_attempt_id, execution }: rows.StoredJob,
): Promise<void> {
  const { executors, steps } = deps;
  const attempt = current_attempt_id ? attempts.get(db, current_attempt_id) : undefined;
  const executorPeer = attempt?.executor_peer_id
    ? executors.get(attempt.executor_peer_id)
    : undefined;
  const path = execution.target.path ?? executorPeer?.path ?? null;
  const outcomes = await runChecks(execution.checks, path, deps);
  db.transact(() => {
    const job = rows.get(db, job_id);
    if (job?.phase !== CHECKING || job.current_attempt_id !== current_attempt_id) return;
    const result_data = { ...job.result_data, checks: outcomes };
    const failed = outcomes.find(({ exit }) => exit !== 0);
    if (!failed) return void steps.settle(job, "completed", { result_data });
    steps.settle(job, "failed", {
      result_data,
      state_reason: "check_failed" satisfies JobReason,
      error: `The check "${failed.name}" failed: ` +
        (failed.exit ?? "it did not run or did not end; see its output_tail"),
    });
  });
}

/** Runs the named checks one after the other, up to the first that fails. */
async function runChecks(
  names: readonly string[],
  path: string | null,
  deps: FireDeps,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const name of names) {
    const outcome = await runOne(name, path, deps);
    outcomes.push(outcome);
    if (outcome.exit !== 0) break;
  }
  return outcomes;
}

/**
 * Runs one check. A peer may have chosen the path, and an agent can replace the folder with a link.
 * So each run resolves the path again, and requires a folder within `spawn.allowed_paths`.
 */
async function runOne(
  name: string,
  path: string | null,
  { checks, folders, programs, shutdownSignal: signal }: FireDeps,
): Promise<Outcome> {
  const notRun = (output_tail: string) => ({ name, exit: null, output_tail });
  const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
  if (!check) return notRun("jobs.checks no longer names this check");
  if (path === null) return notRun("The job has no folder in which the check could run");
  const found = await allowedFolder(path, folders);
  if (!found.ok) {
    return notRun(
      `The check was not run in "${path}": ${found.why}. Add its folder to spawn.allowed_paths.`,
    );
  }
  const options = { cwd: found.folder, timeout_ms: check.timeout_seconds * 1000, signal };
  const { exit, output } = await programs.run(check.argv, options);
  return { name, exit, output_tail: output.slice(-TAIL_CHARS_MAX).toWellFormed() };
}
