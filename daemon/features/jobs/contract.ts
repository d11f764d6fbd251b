/** What the world may say about jobs and their templates, as data. */

import * as z from "zod";
import { contract, type Tunnel } from "kit/http/contract.ts";
import {
  Instant,
  Name,
  QueryNumber,
  Sender,
  shortText,
  Text,
  TextOrEmpty,
} from "kit/core/schema.ts";

import { Cron, Timezone } from "kit/core/cron.ts";
import { Backend } from "../agents/contract.ts";
import { attemptMachine, jobMachine, templateMachine } from "./machine.ts";

const nullableString = z.string().nullable();
const Data = z.record(z.string(), z.unknown());

export const JobState = z.enum(jobMachine.states);
export const TemplateState = z.enum(templateMachine.states);
export const ProcessScope = z.enum(["per_fire", "persistent"]);
export const Continuity = z.enum(["fresh", "resume"]);

/** States in which a job rests; all of them but failed and unavailable for good. */
export const TERMINAL_STATES: readonly z.output<typeof JobState>[] = [
  ...["completed", "failed", "cancelled", "expired", "unavailable"] as const,
];

/** Progress notes that a job keeps; the oldest give way. */
export const PROGRESS_EVENTS_MAX = 100;
/** Attempts that a record shows, the newest. */
export const ATTEMPTS_SHOWN_MAX = 20;
const CHECKS_MAX = 16;
const ARTIFACTS_MAX = 100;
const DATA_BYTES_MAX = 65_536;

const isSmall = (data: unknown) => JSON.stringify(data).length <= DATA_BYTES_MAX;
const SMALL = `At most ${DATA_BYTES_MAX} bytes of JSON`;

/** Acceptance checks by name: the only programs that a job can have run (contract 8). */
export const Checks = z.record(
  Name,
  z.strictObject({
    argv: z.array(z.string().min(1)).min(1),
    timeout_seconds: z.number().min(1).max(3600).default(300),
  }),
);
export type Checks = z.output<typeof Checks>;

/** What is to be done, by whom, when, and how its result is carried (contract 2). */
export const Execution = z.object({
  prompt: z.object({ body: z.string() }),
  target: z.object({
    path: nullableString,
    backend: Backend.nullable(),
    profile: nullableString,
    assigned_peer_id: nullableString,
  }),
  schedule: z.object({
    due_at: Instant.nullable(),
    cron: nullableString,
    timezone: nullableString,
    calendar_id: nullableString,
  }),
  delivery: z.object({ kind: z.literal("notify"), result_surface: nullableString }),
  process_scope: ProcessScope,
  continuity: Continuity,
  checks: z.array(z.string()),
});
export type Execution = z.output<typeof Execution>;

/** `executor`: named, taken as it runs, started anew with its session, or started afresh. */
export const Attempt = z.object({
  attempt_id: z.string(),
  number: z.number().int(),
  state: z.enum(attemptMachine.states),
  executor: z.enum(["assigned", "reused", "resumed", "spawned"]),
  executor_peer_id: nullableString,
  spawn_id: nullableString,
  delivery_id: nullableString,
  started_at: Instant,
  delivered_at: Instant.nullable(),
  armed_at: Instant.nullable(),
  ended_at: Instant.nullable(),
  reason: nullableString,
});
export type Attempt = z.output<typeof Attempt>;

const Progress = z.object({
  at: Instant,
  phase: nullableString,
  progress: z.number().nullable(),
  note: nullableString,
});

/** What templates and jobs have in common: whose they are, and what is to be done. */
const Owned = z.object({
  title: z.string(),
  kind: z.string(),
  owner_peer_id: nullableString,
  created_by_peer_id: nullableString,
  mesh_session_id: nullableString,
  circle: z.string(),
  scope: z.string(),
  visibility: z.string(),
  request: Data.nullable(),
  provenance: Data,
  execution: Execution,
  created_at: Instant,
  updated_at: Instant,
});

export const Job = Owned.extend({
  job_id: z.string(),
  work_id: z.string(),
  state: JobState,
  state_reason: nullableString,
  phase: nullableString,
  progress: z.number().nullable(),
  progress_events: z.array(Progress),
  assigned_peer_id: nullableString,
  correlation_id: nullableString,
  source_kind: z.enum(["request", "calendar"]),
  source_id: nullableString,
  runner: z.object({
    attempt_count: z.number().int(),
    current_attempt_id: nullableString,
    lease_until: Instant.nullable(),
    attempts: z.array(Attempt),
  }),
  due_at: Instant.nullable(),
  deadline_at: Instant.nullable(),
  expires_at: Instant.nullable(),
  result_summary: nullableString,
  result_data: Data.nullable(),
  error: nullableString,
  artifacts: z.array(z.unknown()),
  cancel_requested: z.boolean(),
  cancel_requested_at: Instant.nullable(),
  cancellation_reason: nullableString,
}).meta({ id: "Job" });
export type Job = z.output<typeof Job>;

export const Template = Owned.extend({
  calendar_id: z.string(),
  state: TemplateState,
  cron: z.string(),
  timezone: z.string(),
  next_due_at: Instant.nullable(),
  last_due_at: Instant.nullable(),
  last_occurrence_work_id: nullableString,
  occurrences: z.number().int(),
}).meta({ id: "Template" });
export type Template = z.output<typeof Template>;

/** What a summary leaves out is missing (specification 4). */
const Brief = { execution: Execution.partial({ prompt: true }) };
export const JobInList = Job.partial({
  request: true,
  provenance: true,
  runner: true,
  progress_events: true,
}).extend(Brief);
export type JobInList = z.output<typeof JobInList>;
export const TemplateInList = Template.partial({ request: true, provenance: true }).extend(Brief);
export type TemplateInList = z.output<typeof TemplateInList>;

const path = shortText(4096, 1).regex(/^[/~]/, "An absolute path, or one that begins with ~");

const JobRequest = z.object({
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
  checks: z.array(z.string().min(1).max(64)).max(CHECKS_MAX).optional(),
  request: Data.refine(isSmall, SMALL).optional(),
});

/** What of a request does not fit together, as pairs of a field and a sentence. */
function* misfits(asked: z.output<typeof JobRequest>): Generator<[field: string, message: string]> {
  const { assigned_peer, cron } = asked;
  const own = [asked.path, asked.backend].filter((part) => part !== undefined).length;
  if (asked.prompt === undefined && asked.title === undefined) {
    yield ["prompt", "A prompt, or a title that says it all"];
  }
  if (assigned_peer === undefined && own < 2) {
    yield ["assigned_peer", "A target: assigned_peer, or path and backend"];
  }
  if (assigned_peer !== undefined && own > 0) {
    yield ["assigned_peer", "One target: assigned_peer, or path and backend, not both"];
  }
  if (assigned_peer !== undefined && asked.profile !== undefined) {
    yield ["profile", "A profile goes with path and backend"];
  }
  if (assigned_peer !== undefined && asked.process_scope === "per_fire") {
    yield ["process_scope", "An assigned peer is persistent: it is not ended with the fire"];
  }
  if (cron !== undefined && asked.due_at !== undefined) yield ["cron", "due_at or cron, not both"];
  for (const field of ["deadline_at", "expires_at"] as const) {
    if (cron !== undefined && asked[field] !== undefined) {
      yield [field, "An instant ends one job; a recurring one goes on"];
    }
  }
}

export const createJob = contract({
  id: "jobs.create",
  method: "POST",
  path: "/jobs",
  summary: "Hand out durable work, once or recurring; answers a job, or with `cron` a template",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  body: JobRequest.superRefine((asked, issues) => {
    for (const [field, message] of misfits(asked)) {
      issues.addIssue({ code: "custom", message, path: [field], input: asked });
    }
  }),
  returns: z.union([Job, Template]),
  fails: ["unknown_peer", "ambiguous_peer", "peer_retired", "unknown_check", "path_not_allowed"],
});
export type JobAsked = z.output<typeof createJob.body>;

export const listJobs = contract({
  id: "jobs.list",
  method: "GET",
  path: "/jobs",
  summary: "Jobs and templates, newest first; `view=summary` leaves the heavy fields out. " +
    "Without `limit`, all that are not over, and the newest of those that are",
  access: "caller",
  tunnel: "open",
  query: z.object({
    state: z.enum([...JobState.options, "active", "paused"]).optional(),
    owner_peer_id: z.string().optional(),
    circle: Name.optional(),
    view: z.enum(["full", "summary"]).default("full"),
    limit: QueryNumber.pipe(z.number().min(1).max(1000)).optional(),
  }),
  returns: z.object({ work: z.array(JobInList), recurring: z.array(TemplateInList) }),
  fails: ["unknown_peer", "ambiguous_peer"],
});
export type JobFilter = z.output<typeof listJobs.query>;

const byId = z.object({ id: z.string() });

export const getJob = contract({
  id: "jobs.get",
  method: "GET",
  path: "/jobs/:id",
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
  summary: "The full detail of a job, or of a template by its cal-… id",
});

export const jobResult = contract({
  id: "jobs.result",
  method: "GET",
  path: "/jobs/:id/result",
  summary: "What has come of a job; of a template, what came of its last occurrence",
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

export const REPORTED = [
  ...["running", "awaiting_input", "blocked", "completed", "failed", "cancelled"] as const,
];

export const updateJob = contract({
  id: "jobs.update",
  method: "PATCH",
  path: "/jobs/:id",
  summary: "Tell how a job goes; any `phase` other than turn_started holds its fire open",
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

/** A verb on a job by its id, without a body of its own. Those that may start an agent are `admin`. */
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

export const runJob = jobVerb("run", "admin", "Begin now: what waits, failed, or is recurring");
export const retryJob = jobVerb(
  "retry",
  "admin",
  "Try anew what failed, or was delivered and not begun",
);
export const pauseJob = jobVerb("pause", "open", "Let a template fire no more until it is resumed");
export const resumeJob = jobVerb(
  "resume",
  "admin",
  "Let a paused template fire again, from now on",
);

export const cancelJob = contract({
  ...jobVerb("cancel", "open", "Call a job or a template off; an executor at work is told"),
  body: z.object({ reason: shortText(2000, 1).optional() }),
});
