/** The routes of jobs and their templates, as data. */

import * as z from "zod";
import { NO_ACTOR, type Tunnel } from "kit/http/contract.ts";
import { byId, contract } from "protocol/contract.ts";
import { PEER_FAILS } from "protocol/peers/record.ts";
import { Cron, Timezone } from "kit/core/cron.ts";
import {
  forbids,
  Instant,
  Name,
  queryInteger,
  requires,
  Sender,
  shortText,
  Text,
  TextOrEmpty,
} from "kit/core/schema.ts";
import { Backend } from "protocol/agents/contract.ts";
import { GivenBudget } from "protocol/budgets/contract.ts";
import {
  Data,
  Execution,
  Job,
  JobInList,
  JobState,
  ProcessScope,
  Template,
  TemplateInList,
} from "protocol/jobs/record.ts";

/** A failed or unavailable job can be retried; the other terminal states are final. */
export const TERMINAL_STATES: readonly z.output<typeof JobState>[] = [
  "completed",
  "failed",
  "cancelled",
  "expired",
  "unavailable",
];

/** Session of a fire: a new one, or the session of the previous fire. */
export const Continuity = Execution.shape.continuity;

/** The effect of an interrupted turn on its job. */
export const OnInterrupt = Execution.shape.on_interrupt.unwrap();

const CHECKS_MAX = 16;
const ARTIFACTS_MAX = 100;
const DATA_BYTES_MAX = 65_536;

const isSmall = (data: unknown) => JSON.stringify(data).length <= DATA_BYTES_MAX;
const SMALL = `At most ${DATA_BYTES_MAX} bytes of JSON`;

/** The configured acceptance checks, by name (contract 8). A job can run no other programs. */
export const Checks = z.record(
  Name,
  z.strictObject({
    argv: z.array(z.string().min(1)).min(1),
    timeout_seconds: z.number().min(1).max(3600).default(300),
    /** The files that define the check, as patterns in the folder. */
    files: z.array(shortText(500, 1)).max(50).optional(),
  }),
);
export type Checks = z.output<typeof Checks>;

const path = shortText(4096, 1).regex(/^[/~]/, "An absolute path, or one that begins with ~");

const JobBodyFields = z.object({
  title: shortText(255, 1).optional(),
  prompt: Text.optional(),
  kind: Name.optional(),
  assigned_peer: z.string().min(1).optional(),
  path: path.optional(),
  backend: Backend.optional(),
  profile: Name.optional(),
  circle: Name.optional(),
  owner_peer: z.string().min(1).optional(),
  created_by: Sender.optional(),
  process_scope: ProcessScope.optional(),
  continuity: Continuity.optional(),
  due_at: Instant.optional(),
  cron: Cron.optional(),
  timezone: Timezone.optional(),
  deadline_at: Instant.optional(),
  expires_at: Instant.optional(),
  result_surface: shortText(255, 1).optional(),
  on_interrupt: OnInterrupt.optional().describe(
    "If its turn is interrupted: `fail` (the default), or `wait` in the state awaiting_input",
  ),
  checks: z.array(z.string().min(1).max(64)).max(CHECKS_MAX).optional(),
  request: Data.refine(isSmall, SMALL).optional(),
  budget: GivenBudget,
});

/** The rules of `conflictsOf`, as a JSON schema. */
const CONFLICTS = {
  allOf: [
    { anyOf: [requires("prompt"), requires("title")] },
    {
      anyOf: [
        {
          allOf: [
            requires("assigned_peer"),
            forbids("path", "backend", "profile"),
            { properties: { process_scope: { enum: ["persistent", null] } } },
          ],
        },
        { allOf: [requires("path", "backend"), forbids("assigned_peer")] },
      ],
    },
    { anyOf: [forbids("cron"), forbids("due_at", "deadline_at", "expires_at")] },
  ],
};

/** Yields the conflicts between fields of a request, each with the field that the error names. */
function* conflictsOf(
  body: z.output<typeof JobBodyFields>,
): Generator<[field: string, message: string]> {
  const { assigned_peer, cron } = body;
  const targetParts = [body.path, body.backend].filter((part) => part !== undefined).length;
  if (body.prompt === undefined && body.title === undefined) {
    yield ["prompt", "Give a prompt or a title"];
  }
  if (assigned_peer === undefined && targetParts < 2) {
    yield ["assigned_peer", "Give a target: assigned_peer, or path and backend"];
  }
  if (assigned_peer !== undefined && targetParts > 0) {
    yield ["assigned_peer", "Give one target: assigned_peer, or path and backend, not both"];
  }
  if (assigned_peer !== undefined && body.profile !== undefined) {
    yield ["profile", "A profile needs path and backend, not assigned_peer"];
  }
  if (assigned_peer !== undefined && body.process_scope === "per_fire") {
    yield ["process_scope", "An assigned peer is persistent: it does not end with the fire"];
  }
  if (cron !== undefined && body.due_at !== undefined) {
    yield ["cron", "Give due_at or cron, not both"];
  }
  for (const field of ["deadline_at", "expires_at"] as const) {
    if (cron !== undefined && body[field] !== undefined) {
      yield [field, "A recurring job has no such time: leave it out, or leave out cron"];
    }
  }
}

export const createJob = contract({
  id: "jobs.create",
  method: "POST",
  path: "/jobs",
  summary: "Create a job; with `cron` a recurring template",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  body: JobBodyFields.superRefine((body, issues) => {
    for (const [field, message] of conflictsOf(body)) {
      issues.addIssue({ code: "custom", message, path: [field], input: body });
    }
  }).meta(CONFLICTS),
  verb: "jobs",
  actor: { field: "body.created_by" },
  returns: z.union([Job, Template]),
  fails: [
    ...PEER_FAILS,
    "peer_retired",
    "unknown_check",
    "path_not_allowed",
    "budget_spent",
    "policy_denied",
    "budget_needs_prices",
  ],
});
export type JobBody = z.output<typeof createJob.body>;

export const listJobs = contract({
  id: "jobs.list",
  method: "GET",
  path: "/jobs",
  compressed: true,
  summary: "Jobs and templates, newest first; `view=summary` omits the large fields. " +
    "Without `limit`: all unfinished jobs, and the newest finished ones",
  access: "caller",
  tunnel: "open",
  query: z.object({
    state: z.enum([...JobState.options, "active", "paused"]).optional(),
    owner_peer_id: z.string().optional(),
    circle: Name.optional(),
    view: z.enum(["full", "summary"]).default("full"),
    limit: queryInteger(1, 1000).optional(),
  }),
  actor: NO_ACTOR,
  returns: z.object({ work: z.array(JobInList), recurring: z.array(TemplateInList) }),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});
export type JobFilter = z.output<typeof listJobs.query>;

export const getJob = contract({
  id: "jobs.get",
  method: "GET",
  path: "/jobs/:id",
  compressed: true,
  summary: "A job, or a template by its cal-… id",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: z.union([Job, Template]),
  fails: ["unknown_job"],
});

export const jobStatus = contract({
  ...getJob,
  id: "jobs.status",
  path: "/jobs/:id/status",
  summary: "The full record of a job, or of a template by its cal-… id",
});

export const jobResult = contract({
  id: "jobs.result",
  method: "GET",
  path: "/jobs/:id/result",
  summary: "The result of a job; for a template, of its last occurrence",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Job.pick({
    job_id: true,
    state: true,
    state_reason: true,
    result_summary: true,
    result_data: true,
    error: true,
    artifacts: true,
    updated_at: true,
  }),
  fails: ["unknown_job"],
});
export type JobResult = z.output<typeof jobResult.returns>;

/** The states that an executor may report. */
export const REPORTED = [
  "running",
  "awaiting_input",
  "blocked",
  "completed",
  "failed",
  "cancelled",
] as const;

export const updateJob = contract({
  id: "jobs.update",
  method: "PATCH",
  path: "/jobs/:id",
  summary: "Report on a job; any `phase` other than turn_started holds its fire open",
  access: "caller",
  tunnel: "admin",
  params: byId,
  body: z.object({
    state: z.enum(REPORTED).optional(),
    attempt_id: z.string().optional(),
    phase: shortText(64, 1).optional(),
    state_reason: shortText(255, 1).optional(),
    progress: z.number().min(0).max(100).optional(),
    progress_note: shortText(2000, 1).optional(),
    result_summary: TextOrEmpty.optional(),
    result_data: Data.refine(isSmall, SMALL).optional(),
    error: TextOrEmpty.optional(),
    artifacts: z.array(z.unknown()).max(ARTIFACTS_MAX).refine(isSmall, SMALL).optional(),
  }),
  returns: Job,
  fails: ["unknown_job", "attempt_id_required", "stale_attempt", "illegal_state"],
});
export type JobUpdate = z.output<typeof updateJob.body>;

/**
 * An action on a job, without a body. `tunnel` is `admin` for an action that may start an agent.
 */
function jobVerb<const V extends string>(verb: V, tunnel: Tunnel, summary: string) {
  return contract({
    id: `jobs.${verb}`,
    method: "POST",
    path: `/jobs/:id/${verb}`,
    summary,
    access: "caller",
    tunnel,
    params: byId,
    body: z.object({}),
    returns: z.union([Job, Template]),
    fails: ["unknown_job", "illegal_state"],
  });
}

export const runJob = jobVerb("run", "admin", "Run a queued or failed job, or a template, now");
export const retryJob = jobVerb(
  "retry",
  "admin",
  "Retry a job that failed, or was delivered but not begun",
);
export const pauseJob = jobVerb("pause", "open", "Pause a template");
export const resumeJob = jobVerb(
  "resume",
  "admin",
  "Resume a paused template; missed fires are not made up for",
);

export const cancelJob = contract({
  ...jobVerb("cancel", "open", "Cancel a job or a template; an executor at work is notified"),
  body: z.object({ reason: shortText(2000, 1).optional() }),
});
