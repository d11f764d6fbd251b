/** Routes of scheduled messages. */

import { type Caller, type Route, route } from "kit/http/route.ts";
import { Traceparent } from "../messages/contract.ts";
import * as contracts from "./contract.ts";
import type { Schedules } from "./schedules.ts";

export interface ScheduleRoutesDeps {
  /** Whether the request comes from a proven human origin (contract 2). */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** The sender: a peer id, or a name that belongs to no peer. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
}

export function scheduleRoutes(schedules: Schedules, deps: ScheduleRoutesDeps): Route[] {
  const requestContextOf = (caller: Caller, headers: Headers) => ({
    proven_human: deps.isProvenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
  return [
    route(
      contracts.createSchedule,
      ({ body, caller, headers, commit }) =>
        commit(() => schedules.create(body, requestContextOf(caller, headers))),
      {
        sender: ({ body }) => deps.senderOf(body),
        again: (before) => schedules.get(before.schedule_id) ?? before,
      },
    ),
    route(contracts.listSchedules, ({ query }) => ({ schedules: schedules.list(query) })),
    route(contracts.getSchedule, ({ params }) => schedules.mustGet(params.id)),
    route(
      contracts.editSchedule,
      ({ params, body, caller, headers }) =>
        schedules.edit(params.id, body, requestContextOf(caller, headers)),
    ),
    route(contracts.cancelSchedule, ({ params }) => schedules.cancel(params.id)),
  ];
}
