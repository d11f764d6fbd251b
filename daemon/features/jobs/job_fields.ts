/** Job records: made from a request with its defaults, and shortened for a list. */

import { Problem } from "kit/core/problem.ts";
import type { JobBody } from "./contract.ts";
import type { Execution, Job, JobInList, Template, TemplateInList } from "./record.ts";
import type { StoredJob } from "./store.ts";
import type { StoredTemplate } from "./templates/store.ts";

/** The fields that a template shares with the jobs made from it. */
export type JobFields = Pick<
  StoredTemplate,
  | ("title" | "kind" | "owner_peer_id" | "created_by_peer_id" | "mesh_session_id" | "circle")
  | ("scope" | "visibility" | "request" | "provenance" | "execution" | "proven_human")
>;

/** Where a job comes from, and its times. */
export type JobSource =
  & Pick<StoredJob, "source_kind" | "source_id" | "due_at">
  & Partial<Pick<StoredJob, "deadline_at" | "expires_at">>;

/** A new job, queued. */
export function newJob(job_id: string, fields: JobFields, source: JobSource, now: number) {
  return {
    ...fields,
    job_id,
    state: "queued",
    state_reason: null,
    phase: null,
    deadline_at: null,
    expires_at: null,
    ...source,
    assigned_peer_id: fields.execution.target.assigned_peer_id,
    progress: null,
    progress_events: [],
    correlation_id: null,
    attempt_count: 0,
    current_attempt_id: null,
    lease_until: null,
    result_summary: null,
    result_data: null,
    error: null,
    artifacts: [],
    cancel_requested: false,
    cancel_requested_at: null,
    cancellation_reason: null,
    look_at: Math.max(now, source.due_at ?? now),
    deadline_told: false,
    created_at: now,
    updated_at: now,
  } satisfies StoredJob;
}

/** The default title. It does not quote the prompt, which a summary leaves out. */
export function titleOf({ kind = "task", path, backend, assigned_peer }: JobBody): string {
  if (assigned_peer !== undefined) return `A ${kind} for ${assigned_peer}`.slice(0, 255);
  return `A ${kind} for ${backend} in ${path?.split("/").filter(Boolean).at(-1) ?? "/"}`
    .slice(0, 255);
}

/** The execution of a request, with the defaults of specification 2. */
export function executionOf(body: JobBody, assigned_peer_id: string | null): Execution {
  const { cron, timezone, due_at = null } = body;
  return {
    prompt: { body: body.prompt ?? body.title ?? "" },
    target: {
      path: body.path ?? null,
      backend: body.backend ?? null,
      profile: body.profile ?? null,
      assigned_peer_id,
    },
    schedule: {
      due_at,
      cron: cron ?? null,
      timezone: timezone ?? (cron === undefined ? null : "UTC"),
      calendar_id: null,
    },
    delivery: { kind: "notify", result_surface: body.result_surface ?? null },
    process_scope: body.process_scope ?? (assigned_peer_id === null ? "per_fire" : "persistent"),
    continuity: body.continuity ?? (cron === undefined ? "fresh" : "resume"),
    checks: body.checks ?? [],
  };
}

function withoutPrompt({ prompt: _, ...execution }: Execution): Omit<Execution, "prompt"> {
  return execution;
}

export function toBriefJob(job: Omit<Job, "runner" | "work_id">): JobInList {
  const { request: _r, provenance: _p, progress_events: _e, ...brief } = job;
  return { ...brief, work_id: job.job_id, execution: withoutPrompt(job.execution) };
}

export function toBriefTemplate(template: Template): TemplateInList {
  const { request: _r, provenance: _p, ...brief } = template;
  return { ...brief, execution: withoutPrompt(template.execution) };
}

/** Refuses an action that the state of a job or a template does not allow. */
export function illegalState(
  record:
    & { readonly state: string }
    & ({ readonly job_id: string } | {
      readonly calendar_id: string;
    }),
  action: string,
): Problem<"illegal_state"> {
  const job_id = "job_id" in record ? record.job_id : record.calendar_id;
  return new Problem("illegal_state", { job_id, state: record.state, action });
}
