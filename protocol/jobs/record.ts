/** The records of jobs, their attempts and their templates (contract 2). */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { Backend } from "protocol/agents/contract.ts";
import { attemptMachine, jobMachine, templateMachine } from "protocol/jobs/states.ts";

const nullableString = z.string().nullable();
export const Data = z.record(z.string(), z.unknown());

export const JobState = z.enum(jobMachine.states);
const TemplateState = z.enum(templateMachine.states);
export const ProcessScope = z.enum(["per_fire", "persistent"]);
const Continuity = z.enum(["fresh", "resume"]);
const OnInterrupt = z.enum(["fail", "wait"]);

/** The task, its executor, its schedule, and how its result is delivered (contract 2). */
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
  /** The effect on the job if its turn is interrupted, or ends without a result. */
  on_interrupt: OnInterrupt.default("fail"),
  /** The amount that each run may use; null for any. */
  budget: nullableString.default(null),
});
export type Execution = z.output<typeof Execution>;

/**
 * `executor` says where the executor comes from: `assigned` in the request, `reused` from the
 * previous attempt, or started for this attempt, either `resumed` with the session of the previous
 * attempt or `spawned` without it.
 */
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

/** The fields that templates and jobs share. */
const OwnedJob = z.object({
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

export const Job = OwnedJob.extend({
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

export const Template = OwnedJob.extend({
  calendar_id: z.string(),
  state: TemplateState,
  cron: z.string(),
  timezone: z.string(),
  next_due_at: Instant.nullable(),
  last_due_at: Instant.nullable(),
  last_occurrence_work_id: nullableString,
  /** The job that has to end before the template fires again; null unless it is due. */
  waits_for_work_id: nullableString,
  occurrences: z.number().int(),
}).meta({ id: "Template" });
export type Template = z.output<typeof Template>;

/** `view=summary` omits the prompt (specification 4). */
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
