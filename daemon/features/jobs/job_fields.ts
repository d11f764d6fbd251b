/** Makes job records from requests, with their defaults, and shortens them for lists. */

import { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { JobBody } from "protocol/jobs/contract.ts";
import type { Execution, Job, JobInList, Template, TemplateInList } from "protocol/jobs/record.ts";
import type { CheckRunner } from "./check_runner.ts";
import type { StoredJob } from "./store.ts";
import type { StoredTemplate } from "./template_store.ts";

/** The fields that a template shares with the jobs made from it. */
export type JobFields = Pick<
  StoredTemplate,
  | ("title" | "kind" | "owner_peer_id" | "created_by_peer_id" | "mesh_session_id" | "circle")
  | ("scope" | "visibility" | "request" | "provenance" | "execution" | "proven_human")
  | "unverified"
>;

/** Where a job comes from, and its times. */
export type JobSource =
  & Pick<StoredJob, "source_kind" | "source_id" | "due_at">
  & Partial<Pick<StoredJob, "deadline_at" | "expires_at">>;

/** The fields of a request, with its peers resolved and its defaults filled in. */
export function toJobFields(
  body: JobBody,
  requestContext: RequestContext,
  { directory, checkRunner }: {
    readonly directory: Directory;
    readonly checkRunner: Pick<CheckRunner, "mustKnow">;
  },
): JobFields {
  const caller = directory.sender(body.created_by ?? ANONYMOUS_SENDER);
  const scope = { circle: body.circle, caller };
  const assigned = body.assigned_peer && directory.findNotRetired(body.assigned_peer, scope);
  const owner = body.owner_peer && directory.findNotRetired(body.owner_peer, scope);
  checkRunner.mustKnow(body.checks ?? []);
  const proven_human = requestContext.proven_human && caller.role === "human";
  const { unverified = false } = requestContext;
  return {
    title: body.title ?? titleOf(body),
    kind: body.kind ?? "task",
    owner_peer_id: owner ? owner.peer_id : null,
    created_by_peer_id: caller.peer_id,
    mesh_session_id: caller.mesh_session_id,
    circle: body.circle ?? caller.circle ?? (assigned ? assigned.circle : "default"),
    scope: "circle",
    visibility: "circle",
    request: body.request ?? null,
    provenance: { created_by: caller.name, human: proven_human, unverified },
    execution: executionOf(body, assigned ? assigned.peer_id : null),
    proven_human,
    unverified,
  };
}

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

/** The default title. It does not quote the prompt, because summaries omit the prompt. */
function titleOf({ kind = "task", path, backend, assigned_peer }: JobBody): string {
  if (assigned_peer !== undefined) return `A ${kind} for ${assigned_peer}`.slice(0, 255);
  return `A ${kind} for ${backend} in ${path?.split("/").filter(Boolean).at(-1) ?? "/"}`
    .slice(0, 255);
}

/** The execution of a request, with the defaults of specification 2. */
function executionOf(body: JobBody, assigned_peer_id: string | null): Execution {
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
    on_interrupt: body.on_interrupt ?? "fail",
    budget: body.budget ?? null,
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

type ActionOnJob = "cancel" | "pause" | "resume" | "retry" | "run" | "update";
type JobOrTemplate =
  & { readonly state: string }
  & (
    | { readonly job_id: string }
    | { readonly calendar_id: string }
  );

/** The refusal of an action that the state of a job, or of a recurring job, does not allow. */
export function illegalState(record: JobOrTemplate, action: ActionOnJob): Problem<"illegal_state"> {
  const { state } = record;
  const job_id = "job_id" in record ? record.job_id : record.calendar_id;
  const summary = "job_id" in record ? whyNotJob(record, action) : whyNotTemplate(state, action);
  return new Problem("illegal_state", { job_id, state, action, summary });
}

const ENDINGS: Readonly<Record<string, string>> = {
  completed: "it is completed",
  failed: "it failed",
  cancelled: "it was cancelled before",
  expired: "it expired before it was started",
  unavailable: "it could not be started, and has ended",
};

function whyNotJob(
  { job_id, state }: { readonly job_id: string; readonly state: string },
  action: ActionOnJob,
): string {
  if (action === "pause" || action === "resume") {
    return "only a recurring job can be paused and resumed; its id begins with cal-";
  }
  const ending = ENDINGS[state];
  if (ending === undefined) return `it is ${state.replaceAll("_", " ")}`;
  const isRetryable = state === "failed" || state === "unavailable";
  return isRetryable ? `${ending}; \`mesh jobs retry ${job_id}\` starts it again` : ending;
}

function whyNotTemplate(state: string, action: ActionOnJob): string {
  return action === "retry" || action === "update"
    ? "it is a recurring job; do that to one of its runs, whose ids begin with work-"
    : `it is ${state}`;
}
