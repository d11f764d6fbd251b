/** Prints jobs: as tables, in full, and as one line for `--follow`. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { getJob, jobResult, listJobs } from "../../daemon/features/jobs/contract.ts";
import {
  print,
  printFields,
  printTable,
  printText,
  styled,
  type StyledText,
  type Terminal,
} from "./terminal.ts";
import { formatDuration } from "./views.ts";

type JobOrRecurring = WireResponse<typeof getJob>;
type Job = Extract<JobOrRecurring, { job_id: string }>;
type RecurringJob = Exclude<JobOrRecurring, { job_id: string }>;
type JobList = WireResponse<typeof listJobs>;
type Result = WireResponse<typeof jobResult>;

export function showJobs(
  to: Terminal,
  { work, recurring }: JobList,
  { clock, names }: { clock: Clock; names: ReadonlyMap<string, string> },
): void {
  const elapsed = (at: string) => formatDuration(clock.now() - Date.parse(at));
  printTable(
    to,
    [
      { title: "JOB", cell: ({ job_id }) => styled("cyan", job_id), essential: true },
      { title: "STATE", cell: styledState, essential: true },
      { title: "FOR", cell: ({ execution: { target } }) => formatTarget(target, names) },
      { title: "SINCE", cell: ({ updated_at }) => elapsed(updated_at) },
      { title: "TITLE", cell: ({ title }) => title },
    ],
    work,
    "No jobs. Create one with: mesh jobs create TEXT --to PEER",
  );
  if (recurring.length === 0) return;
  print(to);
  printTable(
    to,
    [
      {
        title: "RECURRING",
        cell: ({ calendar_id }) => styled("cyan", calendar_id),
        essential: true,
      },
      { title: "STATE", cell: ({ state }) => styled(state === "active" ? "green" : "dim", state) },
      { title: "CRON", cell: ({ cron, timezone }) => `${cron} ${timezone}` },
      { title: "NEXT", cell: ({ next_due_at }) => next_due_at?.slice(0, 16) ?? "" },
      { title: "TITLE", cell: ({ title }) => title },
    ],
    recurring,
    "",
  );
}

export function showJob(to: Terminal, found: JobOrRecurring): void {
  if ("job_id" in found) showJobDetails(to, found);
  else showRecurringJob(to, found);
}

/** Prints the current state of a job in one line. */
export function showStep(to: Terminal, job: Job): void {
  const { job_id, phase, state_reason, progress, due_at, state } = job;
  const extras = [
    phase !== null && phase !== state && phase,
    state_reason && `(${state_reason})`,
    progress !== null && `${progress} %`,
    state === "queued" && due_at && `due ${due_at}`,
  ].filter(Boolean);
  print(
    to,
    styled("cyan", job_id),
    "  ",
    styledState(job),
    extras.length > 0 ? `  ${extras.join("  ")}` : "",
  );
}

export function showResult(to: Terminal, result: Pick<Result, "result_summary" | "error">): void {
  const { result_summary, error } = result;
  if (result_summary) printText(to, result_summary);
  if (error) print(to, styled("red", error));
  if (!result_summary && !error) print(to, styled("dim", "No result."));
}

function showJobDetails(to: Terminal, job: Job): void {
  const { execution: { target, process_scope, continuity, checks, prompt }, runner } = job;
  printFields(to, {
    job: styled("cyan", job.job_id),
    title: job.title,
    state: styledState(job),
    why: job.state_reason,
    phase: job.phase,
    progress: job.progress === null ? null : `${job.progress} %`,
    for: formatTarget(target),
    runs: `${process_scope}, ${continuity}`,
    owner: job.owner_peer_id,
    created: `${job.created_at} by ${String(job.provenance["created_by"] ?? "")}`,
    source: job.source_id,
    due: job.due_at,
    deadline: job.deadline_at,
    expires: job.expires_at,
    checks: checks.join(", "),
  });
  print(to);
  printText(to, prompt.body, "  ");
  for (const { at, phase, progress, note } of job.progress_events) {
    const details = [phase, progress === null ? null : `${progress} %`, note].filter(Boolean);
    print(to, styled("dim", at), "  ", details.join("  "));
  }
  for (const { number, state, executor, executor_peer_id, reason, attempt_id } of runner.attempts) {
    const executorId = executor_peer_id ?? "";
    print(
      to,
      styled("dim", `attempt ${number}`),
      `  ${state}  ${executor} ${executorId}  ${reason ?? ""}  `,
      styled("dim", attempt_id),
    );
  }
  if (job.result_summary !== null || job.error !== null) {
    print(to);
    showResult(to, job);
  }
}

function showRecurringJob(to: Terminal, recurringJob: RecurringJob): void {
  const { execution: { target, process_scope, continuity, prompt } } = recurringJob;
  printFields(to, {
    recurring: styled("cyan", recurringJob.calendar_id),
    title: recurringJob.title,
    state: recurringJob.state,
    fires: `${recurringJob.cron} ${recurringJob.timezone}`,
    next: recurringJob.next_due_at,
    last: recurringJob.last_due_at,
    "last job": recurringJob.last_occurrence_work_id,
    "fired": `${recurringJob.occurrences} times`,
    for: formatTarget(target),
    runs: `${process_scope}, ${continuity}`,
    owner: recurringJob.owner_peer_id,
  });
  print(to);
  printText(to, prompt.body, "  ");
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
  names?: ReadonlyMap<string, string>,
): string {
  if (assigned_peer_id === null) return `${backend} in ${path}`;
  return names?.get(assigned_peer_id) ?? assigned_peer_id;
}
