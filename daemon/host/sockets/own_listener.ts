/** Finds out who listens at a local address. A token is sent to this user's programs only. */

import { isEndpoint, kernelTable, LISTEN_STATE, parseAddress } from "./netlink.ts";
import { outputOf } from "../processes.ts";

/**
 * `ours`: this user's program, or root's. `not_ours`: another user's program, or (on macOS) none
 * that this user can see. `unknown`: this platform does not report it.
 */
type Listener = "ours" | "not_ours" | "nobody" | "unknown";

const ROOT = 0;
/** Lists open sockets on macOS. */
export const LSOF = "/usr/sbin/lsof";
const WILDCARDS = ["0.0.0.0", "::"];

/** Finds out whose program a connection to this address would reach. */
export function listenerAt({ hostname, port }: URL): Listener {
  const uid = Deno.uid();
  if (uid === null) return "unknown";
  if (Deno.build.os !== "linux") return byLsof(port || "80");
  const own = hostname === "localhost" ? ["127.0.0.1", "::1"] : [hostname];
  const endpoints = [...own, ...WILDCARDS].flatMap((name) => {
    const address = parseAddress(name);
    return address ? [{ ...address, port: Number(port || 80) }] : [];
  });
  const owners = kernelTable().filter(({ local, state }) =>
    state === LISTEN_STATE && endpoints.some((endpoint) => isEndpoint(local, endpoint))
  );
  if (owners.length === 0) return "nobody";
  return owners.every((owner) => owner.uid === uid || owner.uid === ROOT) ? "ours" : "not_ours";
}

/** On macOS, `lsof` shows a user only that user's own sockets. */
function byLsof(port: string): Listener {
  const output = outputOf(LSOF, "-nP", "-t", "-a", `-iTCP:${port}`, "-sTCP:LISTEN");
  if (output === undefined) return "unknown";
  return output === "" ? "not_ours" : "ours";
}
