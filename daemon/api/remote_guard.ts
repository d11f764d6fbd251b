/** Decides who calls through the tunnel, and which routes that caller may reach (contract 9). */

import { Problem } from "protocol/problems.ts";
import type { Contract } from "kit/http/contract.ts";
import type { Caller } from "kit/http/route.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";

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
export function remoteCaller(via: "relay" | "machine", human: boolean): Caller {
  return { remote: undefined, human, authorized: true, holds_token: false, via };
}
