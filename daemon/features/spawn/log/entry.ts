/** An entry of the table of spawns or restarts, with the fields that decide how long it is kept. */

import * as z from "zod";

export const LogEntry = z.object({
  seq: z.number(),
  peer_id: z.string().nullable(),
  /** When the spawn or restart was over; null while it is in progress. */
  over_at: z.number().nullable(),
  /** Whether this is the newest entry of its peer. */
  latest: z.number().transform(Boolean),
});
export type LogEntry = z.output<typeof LogEntry>;

/** The highest sequence number of a table; null when it is empty. */
export const LastSeq = z.object({ seq: z.number().nullable() });

export interface LogPage {
  readonly [name: string]: number;
  readonly after: number;
  readonly limit: number;
}
