/** What may happen in a storm, one row each: how often, and how. A new verb is one more row. */

import { ABOUT_JOBS } from "./verbs/about_jobs.ts";
import { ABOUT_LIVES } from "./verbs/about_lives.ts";
import { ABOUT_MESSAGES } from "./verbs/about_messages.ts";
import { ABOUT_PEERS } from "./verbs/about_peers.ts";
import { ABOUT_SCHEDULES } from "./verbs/about_schedules.ts";
import { ABOUT_SPAWNS } from "./verbs/about_spawns.ts";
import { ABOUT_THE_WORLD } from "./verbs/about_the_world.ts";
import type { Verb } from "./verbs/verb.ts";

export const VERBS: readonly Verb[] = [
  ...ABOUT_MESSAGES,
  ...ABOUT_PEERS,
  ...ABOUT_LIVES,
  ...ABOUT_JOBS,
  ...ABOUT_SCHEDULES,
  ...ABOUT_SPAWNS,
  ...ABOUT_THE_WORLD,
];
