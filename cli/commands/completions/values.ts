/** `mesh complete`: prints values for the completion scripts, one a line. */

import type { Call } from "kit/http/client.ts";
import { unlessRejected } from "../../client/failures.ts";
import { currentNames } from "../../command/errors.ts";
import {
  listAsks,
  listInbox,
  listJobs,
  listPeers,
  listSchedules,
  listShares,
} from "protocol/generated/endpoints.ts";

/** Maximum number of ids that are offered. */
const IDS_MAX = "50";

/** The values that exist now, by kind. */
export const VALUES = {
  peers: currentNames,
  circles: async (call: Call) =>
    (await call(listPeers, { query: {} })).peers.map(({ circle }) => circle),
  asks: async (call: Call) => {
    const { asks } = await call(listAsks, { query: { limit: IDS_MAX } });
    return asks.map(({ correlation_id }) => correlation_id);
  },
  inbox: async (call: Call) =>
    (await call(listInbox, { query: { limit: IDS_MAX } })).items.map(({ item_id }) => item_id),
  jobs: async (call: Call) => {
    const query = { view: "summary", limit: IDS_MAX } as const;
    const { work, recurring } = await call(listJobs, { query });
    return work.map(({ job_id }) => job_id).concat(recurring.map((job) => job.calendar_id));
  },
  schedules: async (call: Call) =>
    (await call(listSchedules, { query: {} })).schedules.map(({ schedule_id }) => schedule_id),
  shares: async (call: Call) => (await call(listShares, {})).shares.map(({ share_id }) => share_id),
} as const;

export type ValueKind = keyof typeof VALUES;

/**
 * The values of a kind, each once. Empty for an unknown kind or without a daemon, because a shell
 * shows what a completion prints in the middle of the command line.
 */
export async function valuesNow(kind: string, getCall: () => Call): Promise<string[]> {
  const list = new Map<string, (call: Call) => Promise<string[]>>(Object.entries(VALUES)).get(kind);
  const isError = (error: unknown) => error instanceof Error;
  return [...new Set(await unlessRejected(isError, () => list?.(getCall())))];
}
