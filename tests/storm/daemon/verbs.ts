/** Every verb of a storm, one row each: how often it is chosen, and what it does. */

import { JOB_VERBS } from "./verbs/jobs.ts";
import { LIFECYCLE_VERBS } from "./verbs/lifecycle.ts";
import { MESSAGE_VERBS } from "./verbs/messages.ts";
import { PEER_VERBS } from "./verbs/peers.ts";
import { SCHEDULE_VERBS } from "./verbs/schedules.ts";
import { SPAWN_VERBS } from "./verbs/spawns.ts";
import { ENVIRONMENT_VERBS } from "./verbs/environment.ts";
import type { Verb } from "./storm.ts";

export const VERBS: readonly Verb[] = [
  ...MESSAGE_VERBS,
  ...PEER_VERBS,
  ...LIFECYCLE_VERBS,
  ...JOB_VERBS,
  ...SCHEDULE_VERBS,
  ...SPAWN_VERBS,
  ...ENVIRONMENT_VERBS,
];
