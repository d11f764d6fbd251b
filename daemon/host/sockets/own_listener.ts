/** Finds out who listens at a local address. A token is sent to this user's programs only. */

import { parseAddress } from "./inet.ts";
import { isEndpoint } from "./netlink.ts";
import { readProcFile } from "../processes.ts";

/**
 * `ours`: this user's program, or root's. `not_ours`: another user's program, or (on macOS) none
 * that this user can see. `unknown`: this platform does not report it.
 */
export type Listener = "ours" | "not_ours" | "nobody" | "unknown";

/** The state of a listening socket in the kernel's table. */
const LISTEN_STATE = "0A";
const ROOT = 0;
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
  const owners = listeners().flatMap(({ local, uid }) =>
    endpoints.some((endpoint) => isEndpoint(local, endpoint)) ? [uid] : []
  );
  if (owners.length === 0) return "nobody";
  return owners.every((owner) => owner === uid || owner === ROOT) ? "ours" : "not_ours";
}

/** On macOS, `lsof` shows a user only that user's own sockets. */
function byLsof(port: string): Listener {
  try {
    const args = ["-nP", "-t", "-a", `-iTCP:${port}`, "-sTCP:LISTEN"];
    const { stdout } = new Deno.Command("/usr/sbin/lsof", { args, stderr: "null" }).outputSync();
    return stdout.length > 0 ? "ours" : "not_ours";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "unknown";
    throw error;
  }
}

function listeners(): { readonly local: string; readonly uid: number }[] {
  return ["tcp", "tcp6"].flatMap((table) =>
    (readProcFile(`net/${table}`) ?? "").split("\n").slice(1).flatMap((line) => {
      const [, local = "", , state, , , , uid] = line.trim().split(/\s+/);
      return state === LISTEN_STATE ? [{ local, uid: Number(uid) }] : [];
    })
  );
}
