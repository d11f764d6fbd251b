/** How people see jobs: in tables, alone, and step by step. */

import type { Clock } from "kit/core/clock.ts";
import type { Wire } from "kit/http/client.ts";
import type { getJob, jobResult, listJobs } from "../../daemon/features/jobs/contract.ts";
import {
  ink,
  type Piece,
  print,
  printFields,
  printTable,
  printText,
  type Terminal,
} from "./print.ts";
import { spanOf } from "./show.ts";

type Any = Wire<typeof getJob>;
type Job = Extract<Any, { job_id: string }>;
type Template = Exclude<Any, { job_id: string }>;
type List = Wire<typeof listJobs>;
type Result = Wire<typeof jobResult>;

export function showJobs(
  to: Terminal,
  { work, recurring }: List,
  { clock, names }: { clock: Clock; names: ReadonlyMap<string, string> },
): void {
  const age = (at: string) => spanOf(clock.now() - Date.parse(at));
  printTable(
    to,
    [
      { title: "JOB", of: ({ job_id }) => ink("cyan", job_id), kept: true },
      { title: "STATE", of: stateOf, kept: true },
      { title: "FOR", of: ({ execution: { target } }) => targetOf(target, names) },
      { title: "SINCE", of: ({ updated_at }) => age(updated_at) },
      { title: "TITLE", of: ({ title }) => title },
    ],
    work,
    "No jobs. Hand one out: mesh jobs create TEXT --to PEER",
  );
  if (recurring.length === 0) return;
  print(to);
  printTable(
    to,
    [
      { title: "RECURRING", of: ({ calendar_id }) => ink("cyan", calendar_id), kept: true },
      { title: "STATE", of: ({ state }) => ink(state === "active" ? "green" : "dim", state) },
      { title: "CRON", of: ({ cron, timezone }) => `${cron} ${timezone}` },
      { title: "NEXT", of: ({ next_due_at }) => next_due_at?.slice(0, 16) ?? "" },
      { title: "TITLE", of: ({ title }) => title },
    ],
    recurring,
    "",
  );
}

export function showJob(to: Terminal, found: Any): void {
  if ("job_id" in found) showOne(to, found);
  else showTemplate(to, found);
}

/** One line: what it is now. */
export function showStep(to: Terminal, job: Job): void {
  const { job_id, phase, state_reason, progress, due_at, state } = job;
  const more = [
    phase !== null && phase !== state && phase,
    state_reason && `(${state_reason})`,
    progress !== null && `${progress} %`,
    state === "queued" && due_at && `due ${due_at}`,
  ].filter(Boolean);
  print(to, ink("cyan", job_id), "  ", stateOf(job), more.length > 0 ? `  ${more.join("  ")}` : "");
}

export function showResult(to: Terminal, result: Pick<Result, "result_summary" | "error">): void {
  const { result_summary, error } = result;
  if (result_summary) printText(to, result_summary);
  if (error) print(to, ink("red", error));
  if (!result_summary && !error) print(to, ink("dim", "No result."));
}

function showOne(to: Terminal, job: Job): void {
  const { execution: { target, process_scope, continuity, checks, prompt }, runner } = job;
  printFields(to, {
    job: ink("cyan", job.job_id),
    title: job.title,
    state: stateOf(job),
    why: job.state_reason,
    phase: job.phase,
    progress: job.progress === null ? null : `${job.progress} %`,
    for: targetOf(target),
    runs: `${process_scope}, ${continuity}`,
    owner: job.owner_peer_id,
    created: `${job.created_at} by ${String(job.provenance["created_by"] ?? "")}`,
    of: job.source_id,
    due: job.due_at,
    deadline: job.deadline_at,
    expires: job.expires_at,
    checks: checks.join(", "),
  });
  print(to);
  printText(to, prompt.body, "  ");
  for (const { at, phase, progress, note } of job.progress_events) {
    const said = [phase, progress === null ? null : `${progress} %`, note].filter(Boolean);
    print(to, ink("dim", at), "  ", said.join("  "));
  }
  for (const { number, state, executor, executor_peer_id, reason, attempt_id } of runner.attempts) {
    const who = executor_peer_id ?? "";
    print(
      to,
      ink("dim", `attempt ${number}`),
      `  ${state}  ${executor} ${who}  ${reason ?? ""}  `,
      ink("dim", attempt_id),
    );
  }
  if (job.result_summary !== null || job.error !== null) {
    print(to);
    showResult(to, job);
  }
}

function showTemplate(to: Terminal, template: Template): void {
  const { execution: { target, process_scope, continuity, prompt } } = template;
  printFields(to, {
    recurring: ink("cyan", template.calendar_id),
    title: template.title,
    state: template.state,
    fires: `${template.cron} ${template.timezone}`,
    next: template.next_due_at,
    last: template.last_due_at,
    "last job": template.last_occurrence_work_id,
    "so far": String(template.occurrences),
    for: targetOf(target),
    runs: `${process_scope}, ${continuity}`,
    owner: template.owner_peer_id,
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

function stateOf({ state }: { state: string }): Piece {
  const style = STYLES[state];
  return style ? ink(style, state) : state;
}

function targetOf(
  { assigned_peer_id, path, backend }: Job["execution"]["target"],
  names?: ReadonlyMap<string, string>,
): string {
  if (assigned_peer_id === null) return `${backend} in ${path}`;
  return names?.get(assigned_peer_id) ?? assigned_peer_id;
}
