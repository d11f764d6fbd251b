/** The route of joint checks. */

import { type Route, route } from "kit/http/route.ts";
import { listJointChecks } from "protocol/joint_checks/contract.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { JointChecks } from "./joint_checks.ts";

export function jointCheckRoutes(
  { jointChecks }: { readonly jointChecks: JointChecks },
  readerOf: ReaderOf,
): Route[] {
  return [
    route(
      listJointChecks,
      ({ query: { from_peer }, caller, headers }) =>
        jointChecks.list(readerOf(from_peer, caller, headers)),
    ),
  ];
}
