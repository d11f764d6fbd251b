/** The records of responses as they arrive: instants are text. */

import type { WireResponse } from "kit/http/client.ts";
import type { getAsk } from "protocol/asks/contract.ts";
import type { listBudgets } from "protocol/budgets/contract.ts";
import type { listInbox } from "protocol/inbox.ts";
import type { listLimits } from "protocol/limits/contract.ts";
import type { listJobs } from "protocol/jobs/contract.ts";
import type { listMessages } from "protocol/messages/log.ts";
import type { listPeers } from "protocol/peers/contract.ts";

export type Ask = WireResponse<typeof getAsk>;
export type Budget = WireResponse<typeof listBudgets>["budgets"][number];
export type InboxItem = WireResponse<typeof listInbox>["items"][number];
export type JobInList = WireResponse<typeof listJobs>["work"][number];
export type Limit = WireResponse<typeof listLimits>["limits"][number];
export type Message = WireResponse<typeof listMessages>["messages"][number];
export type Peer = WireResponse<typeof listPeers>["peers"][number];
