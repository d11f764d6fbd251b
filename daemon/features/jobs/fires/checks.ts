/** Acceptance checks: the configured programs that run in a job's folder after its turn. */

import type { Context } from "../../../data/context.ts";
import type { CheckOutcome } from "../check_runner.ts";
import { type JobReason } from "../transitions.ts";
import * as rows from "../store.ts";
import type { FireDeps } from "./deps.ts";
import * as attempts from "./store.ts";

/** The phase of a job whose checks run. */
export const CHECKING = "checking";
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
    const { name, exit, reason } = failed;
    const [state_reason, error]: [JobReason, string] = reason === null
      ? ["check_failed", `The check "${name}" failed: ${exit}`]
      : ["check_not_run", `The check "${name}" has no result. ${reason}.`];
    steps.settle(job, "failed", { result_data, state_reason, error });
  });
}

/** Runs the named checks one after the other, up to the first that fails. */
async function runChecks(
  names: readonly string[],
  path: string | null,
  { checkRunner, shutdownSignal }: FireDeps,
): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = [];
  for (const name of names) {
    const outcome = await checkRunner.run(name, path, shutdownSignal);
    outcomes.push(outcome);
    if (outcome.exit !== 0) break;
  }
  return outcomes;
}
