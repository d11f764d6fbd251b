/** What holds after every step of a storm, one row each. */

import { ASK_INVARIANTS } from "./invariants/asks.ts";
import { DELIVERY_INVARIANTS } from "./invariants/deliveries.ts";
import { JOB_INVARIANTS } from "./invariants/jobs.ts";
import { LIFECYCLE_INVARIANTS } from "./invariants/lifecycle.ts";
import { SCHEDULE_INVARIANTS } from "./invariants/schedules.ts";
import { DAEMON_INVARIANTS } from "./invariants/daemon.ts";
import type { Invariant } from "./storm.ts";

export const INVARIANTS: readonly Invariant[] = [
  ...DAEMON_INVARIANTS, // It takes note of the events, which the others look at.
  ...DELIVERY_INVARIANTS,
  ...ASK_INVARIANTS,
  ...LIFECYCLE_INVARIANTS,
  ...JOB_INVARIANTS,
  ...SCHEDULE_INVARIANTS,
];
