/** Every invariant of a storm; each is checked after every step. */

import { ASK_INVARIANTS } from "./invariants/asks.ts";
import { BUDGET_INVARIANTS } from "./invariants/budgets.ts";
import { DELIVERY_INVARIANTS } from "./invariants/deliveries.ts";
import { JOB_INVARIANTS } from "./invariants/jobs.ts";
import { LIFECYCLE_INVARIANTS } from "./invariants/lifecycle.ts";
import { SCHEDULE_INVARIANTS } from "./invariants/schedules.ts";
import { DAEMON_INVARIANTS } from "./invariants/daemon.ts";
import { LIMIT_INVARIANTS } from "./invariants/limits.ts";
import type { Invariant } from "./storm.ts";

export const INVARIANTS: readonly Invariant[] = [
  ...DAEMON_INVARIANTS, // First: it records the events, which the others read.
  ...DELIVERY_INVARIANTS,
  ...ASK_INVARIANTS,
  ...BUDGET_INVARIANTS,
  ...LIFECYCLE_INVARIANTS,
  ...JOB_INVARIANTS,
  ...SCHEDULE_INVARIANTS,
  ...LIMIT_INVARIANTS,
];
