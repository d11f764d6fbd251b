/** One entry of what is kept of spawns and restarts, as far as it decides whether it stays. */

import * as z from "zod";

export const LogEntry = z.object({
  seq: z.number(),
  peer_id: z.string().nullable(),
  /** When nothing was left to wait for. */
  over_at: z.number().nullable(),
  /** Whether its peer has none that is newer. */
  latest: z.number().transform(Boolean),
});
export type LogEntry = z.output<typeof LogEntry>;

/** The newest number of a table; null where it is empty. */
export const LastSeq = z.object({ seq: z.number().nullable() });

export interface LogPage {
  readonly [name: string]: number;
  readonly after: number;
  readonly limit: number;
}
