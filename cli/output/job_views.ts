/** Prints jobs: as tables, in full, and as one line for `--follow`. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { getJob, jobResult, listJobs } from "protocol/jobs/contract.ts";
import { styled, type StyledText, type Terminal } from "./terminal.ts";
import { formatDuration, formatInstant } from "./time.ts";

type JobOrRecurring = WireResponse<typeof getJob>;
type Job = Extract<JobOrRecurring, { job_id: string }>;
type RecurringJob = Exclude<JobOrRecurring, { job_id: string }>;
type JobList = WireResponse<typeof listJobs>;
type Result = WireResponse<typeof jobResult>;

export function showJobs(
  to: Terminal,
  { work, recurring }: JobList,
  { clock, nameOf }: { clock: Clock; nameOf: NameOf },
): void {
  const elapsed = (at: string) => formatDuration(clock.now() - Date.parse(at));
  to.printTable(work, {
    JOB: ({ job_id }) => styled("cyan", job_id),
    STATE: styledState,
    FOR: ({ execution: { target } }) => formatTarget(target, nameOf),
    SINCE: ({ updated_at }) => elapsed(updated_at),
    TITLE: ({ title }) => title,
  }, {
    essential: ["STATE"],
    whole: ["JOB"],
    empty: "No jobs. Create one with: mesh jobs create TEXT --to PEER",
  });
  if (recurring.length === 0) return;
  to.print();
  to.printTable(recurring, {
    RECURRING: ({ calendar_id }) => styled("cyan", calendar_id),
    STATE: ({ state }) => styled(state === "active" ? "green" : "dim", state),
    CRON: ({ cron, timezone }) => `${cron} ${timezone}`,
    NEXT: formatNext,
    TITLE: ({ title }) => title,
  }, { whole: ["RECURRING"] });
}

/** The time when a template fires next, or the reason why it waits. */
function formatNext(
  { next_due_at, waits_for_work_id }: Pick<RecurringJob, "next_due_at" | "waits_for_work_id">,
): string {
  return waits_for_work_id === null
    ? formatInstant(next_due_at) ?? ""
    : `after ${waits_for_work_id}`;
}

/** The name of a peer by its id. */
type NameOf = (peer_id: string) => string;

/** `changes`: the sentence on what changed in its folder, if that may be read. */
export function showJob(
  to: Terminal,
  found: JobOrRecurring,
  nameOf: NameOf,
  changes?: string,
): void {
  if ("job_id" in found) showJobDetails(to, found, nameOf, changes);
  else showRecurringJob(to, found, nameOf);
}

/** Prints the current state of a job in one line. */
export function showStep(to: Terminal, job: Job): void {
  const { job_id, phase, state_reason, progress, due_at, state } = job;
  const extras = [
    phase !== null && phase !== state && phase,
    state_reason && `(${state_reason})`,
    progress !== null && `${progress} %`,
    state === "queued" && due_at && `due ${formatInstant(due_at)}`,
  ].filter(Boolean);
  to.print(
    styled("cyan", job_id),
    "  ",
    styledState(job),
    extras.length > 0 ? `  ${extras.join("  ")}` : "",
  );
}

export function showResult(to: Terminal, result: Pick<Result, "result_summary" | "error">): void {
  const { result_summary, error } = result;
  if (result_summary) to.printText(result_summary);
  if (error) to.print(styled("red", error));
  if (!result_summary && !error) to.print(styled("dim", "No result."));
}

function showJobDetails(
  to: Terminal,
  job: Job,
  nameOf: NameOf,
  changes: string | undefined,
): void {
  const { execution, runner } = job;
  const { target, process_scope, continuity, on_interrupt, checks, prompt } = execution;
  to.printFields({
    job: styled("cyan", job.job_id),
    title: job.title,
    state: styledState(job),
    why: job.state_reason,
    phase: job.phase,
    progress: job.progress === null ? null : `${job.progress} %`,
    for: formatTarget(target, nameOf),
    runs: `${process_scope}, ${continuity}`,
    "if interrupted": on_interrupt,
    owner: job.owner_peer_id && nameOf(job.owner_peer_id),
    created: `${formatInstant(job.created_at)} by ${
      nameOf(String(job.provenance["created_by"] ?? ""))
    }`,
    source: job.source_id,
    due: formatInstant(job.due_at),
    deadline: formatInstant(job.deadline_at),
    expires: formatInstant(job.expires_at),
    checks: checks.join(", "),
    changes,
  });
  to.print();
  to.printText(prompt.body, "  ");
  for (const { at, phase, progress, note } of job.progress_events) {
    const details = [phase, progress === null ? null : `${progress} %`, note].filter(Boolean);
    to.print(styled("dim", formatInstant(at)), "  ", details.join("  "));
  }
  for (const { number, state, executor, executor_peer_id, reason, attempt_id } of runner.attempts) {
    const name = executor_peer_id === null ? "" : nameOf(executor_peer_id);
    to.print(
      styled("dim", `attempt ${number}`),
      `  ${state}  ${executor} ${name}  ${reason ?? ""}  `,
      styled("dim", attempt_id),
    );
  }
  if (job.result_summary !== null || job.error !== null) {
    to.print();
    showResult(to, job);
  }
}

function showRecurringJob(to: Terminal, recurringJob: RecurringJob, nameOf: NameOf): void {
  const { target, process_scope, continuity, on_interrupt, prompt } = recurringJob.execution;
  to.printFields({
    recurring: styled("cyan", recurringJob.calendar_id),
    title: recurringJob.title,
    state: recurringJob.state,
    fires: `${recurringJob.cron} ${recurringJob.timezone}`,
    next: formatNext(recurringJob),
    last: formatInstant(recurringJob.last_due_at),
    "last job": recurringJob.last_occurrence_work_id,
    "fired": `${recurringJob.occurrences} times`,
    for: formatTarget(target, nameOf),
    runs: `${process_scope}, ${continuity}`,
    "if interrupted": on_interrupt,
    owner: recurringJob.owner_peer_id && nameOf(recurringJob.owner_peer_id),
  });
  to.print();
  to.printText(prompt.body, "  ");
}

const STYLES: Readonly<Record<string, "green" | "red" | "yellow">> = {
  completed: "green",
  running: "yellow",
  awaiting_input: "yellow",
  blocked: "yellow",
  failed: "red",
  unavailable: "red",
  expired: "red",
};

function styledState({ state }: { state: string }): StyledText {
  const style = STYLES[state];
  return style ? styled(style, state) : state;
}

function formatTarget(
  { assigned_peer_id, path, backend }: Job["execution"]["target"],
  nameOf: NameOf,
): string {
  return assigned_peer_id === null ? `${backend} in ${path}` : nameOf(assigned_peer_id);
}
