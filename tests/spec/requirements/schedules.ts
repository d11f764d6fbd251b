/** The contract on scheduled messages, from its records to its commands. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SCHEDULES: readonly Requirement[] = [
  ["c1.idempotency.schedules",      "jobs", "A repeated POST /schedules answers the same schedule, as it is now"],
  ["c2.schedule.one-shot",          "jobs", "A one-shot is sent once, when it is due"],
  ["c2.schedule.collapse",          "jobs", "Fires that were missed collapse into one"],
  ["c2.schedule.crash",             "jobs", "A fire and its message survive kill -9 together: none is lost, none comes twice"],
  ["c2.schedule.year",              "jobs", "A pattern goes by the clock of its time zone, daylight saving included"],
  ["c2.schedule.failed",            "jobs", "A one-shot that fails stays as failed, and its sender is told"],
  ["c2.schedule.recurring-fails",   "jobs", "A recurring one records a failed fire, and goes on"],
  ["c2.schedule.inbound-only",      "jobs", "A schedule to a peer that takes no messages may be created; its fire fails"],
  ["c2.schedule.recipient",         "jobs", "A recipient that is unknown or retired is refused when it is named"],
  ["c2.schedule.to-self",           "jobs", "A schedule's recipient may be its sender"],
  ["c2.schedule.human",             "jobs", "A scheduled message is the human's only if it was scheduled through a proven door"],
  ["c2.event.schedule-fired",       "jobs", "`schedule_fired` tells of each fire, without the text"],
  ["c3.schedules.times",            "jobs", "A time is RFC 3339 with any offset, or relative"],
  ["c3.schedules.list",             "jobs", "GET /schedules lists by state, sender, recipient and circle"],
  ["c3.schedules.edit",             "jobs", "PATCH /schedules/{id} changes what is active; else it is 409 illegal_state"],
  ["c3.schedules.cancel",           "jobs", "DELETE /schedules/{id} cancels, and leaves the record"],
  ["c6.tools.schedules",            "jobs", "Agents create, list and cancel schedules in their own name"],
  ["c6.tools.schedules-unknown",    "jobs", "An unknown caller may not change schedules unless the configuration allows it"],
  ["c7.schedule",                   "jobs", "`mesh schedule` creates, lists, shows, edits and deletes"],
];
