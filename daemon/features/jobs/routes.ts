/** Routes of jobs and their templates. */

import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Route, route } from "kit/http/route.ts";
import type { CallerChecks } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/jobs/contract.ts";
import type { Jobs } from "./jobs.ts";

export function jobRoutes(
  { jobs, directory }: { jobs: Jobs; directory: Directory },
  { requestContextOf }: CallerChecks,
): Route[] {
  return [
    route(contracts.createJob, async ({ body, caller, headers, commit }) => {
      await jobs.refuseFolder(body.path);
      const requestContext = requestContextOf(caller, headers);
      return commit(() => jobs.create(body, requestContext));
    }, {
      sender: ({ body }) => directory.senderId(body.created_by ?? ANONYMOUS_SENDER),
      again: (before) => jobs.get("job_id" in before ? before.job_id : before.calendar_id),
    }),
    route(contracts.listJobs, ({ query }) => {
      const { owner_peer_id: owner } = query;
      return jobs.list({ ...query, owner_peer_id: owner && ownerOf(owner, directory) });
    }),
    route(contracts.getJob, ({ params }) => jobs.get(params.id)),
    route(contracts.jobStatus, ({ params }) => jobs.get(params.id)),
    route(contracts.jobResult, ({ params }) => jobs.result(params.id)),
    route(contracts.updateJob, ({ params, body }) => jobs.update(params.id, body)),
    route(contracts.runJob, ({ params }) => jobs.run(params.id)),
    route(contracts.retryJob, ({ params }) => jobs.retry(params.id)),
    route(contracts.cancelJob, ({ params, body }) => jobs.cancel(params.id, body.reason)),
    route(contracts.pauseJob, ({ params }) => jobs.pause(params.id)),
    route(contracts.resumeJob, ({ params }) => jobs.resume(params.id)),
  ];
}

const PEER_ID = /^peer-[0-9a-f]{12}$/;

/** Accepts the exact id of a removed peer, because jobs outlive their owners. */
function ownerOf(argument: string, directory: Directory): string {
  return PEER_ID.test(argument) ? argument : directory.find(argument).peer_id;
}
