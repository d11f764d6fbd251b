/** Decides which routes a machine reaches that may administer this one, and as whom it calls. */

import { EVENT_STREAM } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { Contract } from "kit/http/contract.ts";
import type { Caller } from "kit/http/route.ts";
import { remoteCaller } from "./relay/tunnel_guard.ts";

/**
 * The caller of a request from another machine. What passes no tunnel passes here neither; what
 * needs `relay.allow_admin` is allowed, because only machines in `mesh.bus.allow_admin` get here. A
 * call has one answer, so streams are refused.
 */
export function authorizeMachine(
  { method, path, responseType, tunnel }: Contract,
  human: boolean,
): Caller {
  if (tunnel === "never" || responseType === EVENT_STREAM) {
    throw new Problem("not_from_elsewhere", { method, path });
  }
  return remoteCaller("machine", human);
}
