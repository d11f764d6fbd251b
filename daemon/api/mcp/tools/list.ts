/** The tools for agents (contract 6), in the order in which a model reads them. */

import type { Tool } from "../tool.ts";
import { ANSWERING_TOOLS } from "./answer_tools.ts";
import { ASKING_TOOLS } from "./ask_tools.ts";
import { MANY_TOOLS } from "./many_asks.ts";
import { PENDING_TOOLS } from "./pending_asks.ts";
import { HANDOFF_TOOLS } from "./handoffs.ts";
import { JOB_TOOLS } from "./jobs.ts";
import { SCHEDULE_TOOLS } from "./schedules.ts";
import { LIFECYCLE_TOOLS } from "./lifecycle.ts";
import { MESSAGE_TOOLS } from "./messages.ts";
import { NOTE_TOOLS } from "./notify_tools.ts";
import { PEER_TOOLS } from "./peers.ts";
import { SHARE_TOOLS } from "./shares.ts";
import { SPAWN_TOOLS } from "./spawn.ts";
import { SUBSCRIPTION_TOOLS } from "./subscriptions.ts";
import { TRANSCRIPT_TOOLS } from "./transcripts.ts";

export const TOOLS: readonly Tool[] = [
  ...ASKING_TOOLS,
  ...MANY_TOOLS,
  ...ANSWERING_TOOLS,
  ...PENDING_TOOLS,
  ...NOTE_TOOLS,
  ...PEER_TOOLS,
  ...HANDOFF_TOOLS,
  ...MESSAGE_TOOLS,
  ...TRANSCRIPT_TOOLS,
  ...JOB_TOOLS,
  ...SCHEDULE_TOOLS,
  ...SUBSCRIPTION_TOOLS,
  ...LIFECYCLE_TOOLS,
  ...SPAWN_TOOLS,
  ...SHARE_TOOLS,
];
