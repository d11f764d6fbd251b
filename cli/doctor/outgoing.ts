/**
 * The doctor's checks of outgoing connections: proxies, and certificate authorities of your own.
 */

import { environmentOf } from "../../daemon/host/processes.ts";
import { readAuthorities } from "kit/net/outgoing/authorities.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/proxies.ts";
import type { Check, CheckResult } from "./finding.ts";

/** Findings never show values, because a proxy's address may hold a password. */
export const OUTGOING: Check = {
  area: "outgoing",
  run({ env }, { health, machines, runtimeInfo }) {
    const found: CheckResult[] = readAuthorities(env).faults.map((fault) => [
      "warning",
      "AUTHORITY_UNUSABLE",
      fault,
      "name a file with certificates in PEM, or unset the variable",
    ]);
    // Other systems do not show the environment of a process.
    const started = runtimeInfo && environmentOf(runtimeInfo.pid);
    if (!started) return found;
    const differing = OUTGOING_VARIABLES.filter((name) =>
      (env[name] || "") !== (started.get(name) || "")
    );
    if (differing.length > 0) {
      const detail = `the daemon was started with other values of ${differing.join(", ")} ` +
        "than this shell has";
      const fix = "mesh restart; for the service that starts it: mesh setup --service";
      const goesOut = health && health.relay.status !== "disabled" ||
        machines && machines.bus.status !== "disabled";
      return [...found, [goesOut ? "warning" : "note", "OUTGOING_DIFFERS", detail, fix]];
    }
    const set = OUTGOING_VARIABLES.filter((name) => env[name]);
    const detail = set.length === 0
      ? "no proxy and no authority is named"
      : `the daemon uses ${set.join(", ")}, as this shell does`;
    return [...found, ["ok", "OUTGOING_SAME", detail]];
  },
};
