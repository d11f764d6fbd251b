/** The forms of a job: a request with its defaults filled in, and a record cut to a summary. */

import type { Execution, Job, JobAsked, JobInList, Template, TemplateInList } from "./contract.ts";

/** A title where none was given. It says nothing of the prompt, which a summary leaves out. */
export function titleOf({ kind = "task", path, backend, assigned_peer }: JobAsked): string {
  if (assigned_peer !== undefined) return `A ${kind} for ${assigned_peer}`.slice(0, 255);
  return `A ${kind} for ${backend} in ${path?.split("/").filter(Boolean).at(-1) ?? "/"}`
    .slice(0, 255);
}

/** The request as it will be carried out, its defaults filled in (specification 2). */
export function executionOf(asked: JobAsked, assigned_peer_id: string | null): Execution {
  const { cron, timezone, due_at = null } = asked;
  return {
    prompt: { body: asked.prompt ?? asked.title ?? "" },
    target: {
      path: asked.path ?? null,
      backend: asked.backend ?? null,
      profile: asked.profile ?? null,
      assigned_peer_id,
    },
    schedule: {
      due_at,
      cron: cron ?? null,
      timezone: timezone ?? (cron === undefined ? null : "UTC"),
      calendar_id: null,
    },
    delivery: { kind: "notify", result_surface: asked.result_surface ?? null },
    process_scope: asked.process_scope ?? (assigned_peer_id === null ? "per_fire" : "persistent"),
    continuity: asked.continuity ?? (cron === undefined ? "fresh" : "resume"),
    checks: asked.checks ?? [],
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
