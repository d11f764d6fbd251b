/** Effects of limits on higher features, and questions to them. */

import type { Reason } from "protocol/reasons.ts";

/** The reason of a message or a job that waits for the end of a limit. */
export const LIMITED = "account_limited" satisfies Reason;

export interface LimitEffects {
  /** The peer goes on by itself with what a limit cut off. */
  goesOn(peer_id: string): void;
  /** A message has the peer go on with it. */
  goesOnBy(peer_id: string, delivery_id: string): void;
}

/** A job that a limit holds up, with the attempt in progress. */
interface HeldJob {
  readonly job_id: string;
  readonly attempt_id: string;
}

export interface LimitPorts {
  /** The jobs whose turn at this peer was cut off by a limit. */
  heldJobs(peer_id: string): readonly HeldJob[];
}
