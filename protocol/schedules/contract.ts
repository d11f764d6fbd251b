/** The routes and the record of scheduled messages, as data. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { forbids, Instant, Name, queryInteger, requires, Sender, Text } from "kit/core/schema.ts";

import { Cron, Timezone } from "kit/core/cron.ts";
import { scheduleMachine } from "protocol/schedules/states.ts";
import { When } from "protocol/schedules/when.ts";

/** Maximum number of active schedules. It stops an agent that creates schedules in a loop. */
export const ACTIVE_MAX = 10_000;
/** Maximum number of schedules in one list, so that all active schedules fit. */
const LIST_MAX = ACTIVE_MAX;

export const ScheduleKind = z.enum(["notify", "ask"]);
export const ScheduleState = z.enum(scheduleMachine.states);

/** A message for later (contract 2). */
export const Schedule = z.object({
  schedule_id: z.string(),
  /**
   * The sender and the recipient as the request named them. The recipient is resolved again for
   * each fire.
   */
  from_peer: z.string(),
  to_peer: z.string(),
  text: z.string(),
  kind: ScheduleKind,
  /** True if a digest of the time since the last message follows the text. */
  digest: z.boolean(),
  /** Null for a recurring schedule. */
  fire_at: Instant.nullable(),
  cron: nullableString,
  timezone: nullableString,
  circle: nullableString,
  state: ScheduleState,
  /** Null once the schedule has ended. */
  next_fire_at: Instant.nullable(),
  last_fired_at: Instant.nullable(),
  /** Null if the sender is no registered peer. */
  from_peer_id: nullableString,
  from_peer_name: z.string(),
  /**
   * `fired` if the last message was accepted for delivery. Its trace shows what happened after
   * that.
   */
  last_outcome: z.enum(["fired", "failed"]).nullable(),
  last_error: nullableString,
  /** The id of the last message, for `GET /traces/{trace_id}`. */
  last_message_id: nullableString,
  created_at: Instant,
}).meta({ id: "Schedule" });
export type Schedule = z.output<typeof Schedule>;

/**
 * Checked when the schedule is created. Whether the recipient is addressable is checked at each
 * fire.
 */
const recipientFails = ["unknown_peer", "ambiguous_peer", "peer_retired"] as const;

export const createSchedule = contract({
  id: "schedules.create",
  method: "POST",
  path: "/schedules",
  summary: "Schedule a message, once or by a cron pattern",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  body: z.object({
    from_peer: Sender,
    to_peer: z.string(),
    text: Text,
    kind: ScheduleKind.default("notify"),
    digest: z.boolean().optional().describe(
      "Add a digest of the time since the last message to the text; only to the human",
    ),
    fire_at: When.optional(),
    cron: Cron.optional(),
    /** The time zone of `cron`; UTC by default. */
    timezone: Timezone.optional(),
    circle: Name.optional(),
  }).refine(({ fire_at, cron }) => (fire_at === undefined) !== (cron === undefined), {
    message: "Exactly one of fire_at and cron",
  }).meta({
    allOf: [{
      anyOf: [
        { allOf: [requires("fire_at"), forbids("cron")] },
        { allOf: [requires("cron"), forbids("fire_at")] },
      ],
    }],
  }),
  verb: "schedules",
  actor: { field: "body.from_peer" },
  returns: Schedule,
  fails: [...recipientFails, "schedules_full", "budget_spent", "policy_denied"],
});
export type CreateSchedule = z.output<typeof createSchedule.body>;

export const listSchedules = contract({
  id: "schedules.list",
  method: "GET",
  path: "/schedules",
  compressed: true,
  summary: "Scheduled messages: active ones by next fire, then the others, newest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    state: ScheduleState.optional(),
    from_peer: z.string().optional(),
    to_peer: z.string().optional(),
    circle: Name.optional(),
    limit: queryInteger(1, LIST_MAX).default(LIST_MAX),
  }),
  actor: NO_ACTOR,
  returns: z.object({ schedules: z.array(Schedule) }),
});
export type ScheduleFilter = z.output<typeof listSchedules.query>;

export const getSchedule = contract({
  id: "schedules.get",
  method: "GET",
  path: "/schedules/:id",
  summary: "One scheduled message",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Schedule,
  fails: ["unknown_schedule"],
});

export const editSchedule = contract({
  id: "schedules.edit",
  method: "PATCH",
  path: "/schedules/:id",
  summary: "Edit an active scheduled message",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({
    to_peer: z.string().optional(),
    text: Text.optional(),
    kind: ScheduleKind.optional(),
    fire_at: When.optional(),
    cron: Cron.optional(),
    timezone: Timezone.optional(),
  }).refine((patch) => Object.values(patch).some((value) => value !== undefined), {
    message: "Nothing to change: give to_peer, text, kind, fire_at, cron or timezone",
  }).refine(({ fire_at, cron }) => fire_at === undefined || cron === undefined, {
    message: "At most one of fire_at and cron",
  }).meta({
    allOf: [
      {
        anyOf: ["to_peer", "text", "kind", "fire_at", "cron", "timezone"].map((name) =>
          requires(name)
        ),
      },
      { anyOf: [forbids("fire_at"), forbids("cron")] },
    ],
  }),
  verb: "schedules",
  actor: { otherwise: "maker" },
  returns: Schedule,
  fails: [
    "unknown_schedule",
    "schedule_settled",
    ...recipientFails,
    "budget_spent",
    "policy_denied",
  ],
});
export type EditSchedule = z.output<typeof editSchedule.body>;

export const cancelSchedule = contract({
  id: "schedules.cancel",
  method: "DELETE",
  path: "/schedules/:id",
  summary: "Cancel a scheduled message; a repeat changes nothing",
  access: "caller",
  tunnel: "open",
  params: byId,
  actor: { otherwise: "maker" },
  returns: Schedule,
  fails: ["unknown_schedule", "schedule_settled"],
});
