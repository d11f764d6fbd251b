/** The table of checks of `mesh doctor`, in the order in which they are told. */

import { messageOf } from "kit/core/text.ts";
import { AGENT_CHECK } from "./agents.ts";
import { DAEMON, INSPECTOR, RELAY } from "./daemon.ts";
import { type Check, errorFinding, type Finding } from "./finding.ts";
import type { Machine } from "./machine.ts";
import type { MeshSnapshot } from "./snapshot.ts";
import { PEERS } from "./peers.ts";
import { CLOCK, CONFIG, DISK, STATE } from "./state.ts";
import { TMUX } from "./tmux.ts";

export const CHECKS: readonly Check[] = [
  ...[DAEMON, STATE, CONFIG, DISK, CLOCK, TMUX, AGENT_CHECK, PEERS, RELAY, INSPECTOR],
];

/** All that is found. A check that fails is a finding too, and hides no other's. */
export async function runChecks(machine: Machine, snapshot: MeshSnapshot): Promise<Finding[]> {
  const found = await Promise.all(CHECKS.map(async ({ area, run }) => {
    try {
      return (await run(machine, snapshot)).map((one) => ({ area, ...one }));
    } catch (error) {
      const why = messageOf(error);
      return [{
        area,
        ...errorFinding(CHECK_FAILED, `could not be looked at: ${why}`, "mesh logs"),
      }];
    }
  }));
  return found.flat();
}

/** The code of a finding that says nothing but that a check failed. */
export const CHECK_FAILED = "CHECK_FAILED";
