/** Every verb of a storm, one row each: how often it is chosen, and what it does. */

import { JOB_VERBS } from "./verbs/jobs.ts";
import { LIFECYCLE_VERBS } from "./verbs/lifecycle.ts";
import { ANSWER_VERBS } from "./verbs/answers.ts";
import { BUDGET_VERBS } from "./verbs/budgets.ts";
import { ATTACHMENT_VERBS } from "./verbs/attachments.ts";
import { MESSAGE_VERBS } from "./verbs/messages.ts";
import { PEER_VERBS } from "./verbs/peers.ts";
import { SCHEDULE_VERBS } from "./verbs/schedules.ts";
import { SPAWN_VERBS } from "./verbs/spawns.ts";
import { LIMIT_VERBS } from "./verbs/limits.ts";
import { FAULT_VERBS } from "./verbs/faults.ts";
import { ENVIRONMENT_VERBS } from "./verbs/environment.ts";
import type { Verb } from "./storm.ts";

export const VERBS: readonly Verb[] = [
  ...MESSAGE_VERBS,
  ...ANSWER_VERBS,
  ...BUDGET_VERBS,
  ...PEER_VERBS,
  ...LIFECYCLE_VERBS,
  ...JOB_VERBS,
  ...SCHEDULE_VERBS,
  ...ATTACHMENT_VERBS,
  ...SPAWN_VERBS,
  ...LIMIT_VERBS,
  ...ENVIRONMENT_VERBS,
  ...FAULT_VERBS,
];

/** Weights of the verbs in the first steps. */
const OPENING: Readonly<Record<string, number>> = {
  "connect": 6,
  "connect without receipts": 1,
  "a pane opens": 2,
  "register from a pane": 3,
  "register an agent": 2,
};

/** The first steps of a storm bring peers into the mesh. */
export const OPENING_VERBS: readonly Verb[] = VERBS.flatMap((verb) => {
  const weight = OPENING[verb.name];
  return weight === undefined ? [] : { ...verb, weight };
});
