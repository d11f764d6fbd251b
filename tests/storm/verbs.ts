/** What may happen in a storm, one row each: how often, and how. A new verb is one more row. */

import { ABOUT_JOBS } from "./verbs/jobs.ts";
import { ABOUT_LIVES } from "./verbs/lifecycle.ts";
import { ABOUT_MESSAGES } from "./verbs/messages.ts";
import { ABOUT_PEERS } from "./verbs/peers.ts";
import { ABOUT_SCHEDULES } from "./verbs/schedules.ts";
import { ABOUT_SPAWNS } from "./verbs/spawns.ts";
import { ABOUT_THE_WORLD } from "./verbs/environment.ts";
import type { Verb } from "./storm.ts";

export const VERBS: readonly Verb[] = [
  ...ABOUT_MESSAGES,
  ...ABOUT_PEERS,
  ...ABOUT_LIVES,
  ...ABOUT_JOBS,
  ...ABOUT_SCHEDULES,
  ...ABOUT_SPAWNS,
  ...ABOUT_THE_WORLD,
];
