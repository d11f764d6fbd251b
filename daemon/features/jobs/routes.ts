/** Routes of jobs and their templates. */

import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import * as contracts from "./contract.ts";
import type { Jobs } from "./jobs.ts";

export interface JobRoutesDeps {
  /** Whether the request comes from a proven human origin (contract 2). */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** The sender: a peer id, or a name that belongs to no peer. */
  senderOf(body: { from_peer: string }): string;
  /** Resolves a peer argument to its id. */
  findPeerId(argument: string): string;
}

export function jobRoutes(jobs: Jobs, deps: JobRoutesDeps): Route[] {
  return [
    route(contracts.createJob, async ({ body, caller, headers, commit }) => {
      await jobs.refuseFolder(body.path);
      const requestContext = { proven_human: deps.isProvenHuman(caller, headers) };
      return commit(() => jobs.create(body, requestContext));
    }, {
      sender: ({ body }) => deps.senderOf({ from_peer: body.created_by ?? ANONYMOUS_SENDER }),
      again: (before) => jobs.get("job_id" in before ? before.job_id : before.calendar_id),
    }),
    route(contracts.listJobs, ({ query }) => {
      const { owner_peer_id: owner } = query;
      return jobs.list({ ...query, owner_peer_id: owner && ownerOf(owner, deps) });
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

/** An exact peer id is accepted even if its peer was removed, because jobs outlive their owners. */
function ownerOf(argument: string, { findPeerId }: JobRoutesDeps): string {
  return PEER_ID.test(argument) ? argument : findPeerId(argument);
}
