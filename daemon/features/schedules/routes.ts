/** Routes of scheduled messages. */

import { type Route, route } from "kit/http/route.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/schedules/contract.ts";
import type { Schedules } from "./schedules.ts";

export function scheduleRoutes(
  { schedules, directory }: { schedules: Schedules; directory: Directory },
  { requestContextOf }: CallerChecks,
): Route[] {
  return [
    route(
      contracts.createSchedule,
      ({ body, caller, headers, commit }) =>
        commit(() => schedules.create(body, requestContextOf(caller, headers))),
      {
        sender: senderOf(directory),
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
