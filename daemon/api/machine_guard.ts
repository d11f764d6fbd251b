/**
 * Decides which routes are open to a machine that may administer this one, and names the caller.
 */

import { EVENT_STREAM } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { Contract } from "kit/http/contract.ts";
import type { Caller } from "kit/http/route.ts";
import { remoteCaller } from "./remote_guard.ts";

/**
 * The caller of a request from another machine. Routes that no tunnel may reach are closed here as
 * well. Routes that need `relay.allow_admin` are open, because only machines in
 * `mesh.bus.allow_admin` get here. A call has one answer, so streams are refused.
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
