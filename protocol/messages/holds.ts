/** Holds: the reasons to keep all queued messages of a peer, although a transport may reach it. */

import type { Reason } from "protocol/reasons.ts";

/** A hold, as the trace of each message names it. */
export interface Hold {
  readonly reason: Reason;
}
