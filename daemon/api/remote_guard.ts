/**
 * Decides which routes are open to callers on other machines, and names the caller: through the
 * relay's tunnel (contract 9), and from a machine that may administer this one.
 */

import { Problem } from "protocol/problems.ts";
import type { Contract } from "kit/http/contract.ts";
import type { Caller } from "kit/http/route.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { EVENT_STREAM } from "kit/core/problem.ts";

interface TunnelPolicy {
  readonly origin: RequestHead["door"];
  /** True if callers may reach the routes of administration (`relay.allow_admin`). */
  readonly allow_admin: boolean;
}

/**
 * The caller of a tunnelled request. No token is needed, because the daemon itself connects to the
 * relay, and the relay admits only holders of the relay secret and those whom a holder has let in
 * (apps with a grant, guests of a share). A signed-in browser on a page of the relay speaks as the
 * human. Apps, guests and programs do not.
 */
export function authorizeTunnel(
  { method, path, tunnel }: Contract,
  { origin, allow_admin }: TunnelPolicy,
): Caller {
  if (tunnel === "never") throw new Problem("not_through_relay", { method, path });
  if (tunnel === "admin" && !allow_admin) throw new Problem("relay_admin_off", { method, path });
  const caller = remoteCaller("relay", origin === "browser");
  return allow_admin ? caller : { ...caller, admin_refused: true };
}

/** A caller on another machine, whom its connection has authenticated. */
function remoteCaller(via: "relay" | "machine", human: boolean): Caller {
  return { remote: undefined, human, authorized: true, holds_token: false, via };
}

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
