/** What holds after every step of a storm, one row each. */

import { ABOUT_ASKS } from "./invariants/asks.ts";
import { ABOUT_DELIVERIES } from "./invariants/deliveries.ts";
import { ABOUT_JOBS } from "./invariants/jobs.ts";
import { ABOUT_LIVES } from "./invariants/lifecycle.ts";
import { ABOUT_SCHEDULES } from "./invariants/schedules.ts";
import { ABOUT_THE_HOUSE } from "./invariants/daemon.ts";
import type { Invariant } from "./storm.ts";

export const INVARIANTS: readonly Invariant[] = [
  ...ABOUT_THE_HOUSE, // It takes note of the events, which the others look at.
  ...ABOUT_DELIVERIES,
  ...ABOUT_ASKS,
  ...ABOUT_LIVES,
  ...ABOUT_JOBS,
  ...ABOUT_SCHEDULES,
];
