/** SQL for the old entries of the tables of spawns and restarts; takes no decision. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";

/** A table, and its column with the instant when a spawn or restart was over. */
export interface LogTable {
  readonly name: "spawns" | "restarts";
  readonly over_at: "settled_at" | "finished_at";
}

/** An entry, with the fields that decide how long it is kept. */
const LogEntry = z.object({
  seq: z.number(),
  peer_id: z.string().nullable(),
  /** The end of the spawn or restart; null while it is in progress. */
  over_at: z.number().nullable(),
  /** True if this is the newest entry of its peer. */
  latest: z.number().transform(Boolean),
});
export type LogEntry = z.output<typeof LogEntry>;

/** The highest sequence number of a table; null when it is empty. */
const LastSeq = z.object({ seq: z.number().nullable() });

export function after(
  db: Reader,
  { name, over_at }: LogTable,
  page: { after: number; limit: number },
): LogEntry[] {
  return db.all(
    LogEntry,
    `select seq, peer_id, ${over_at} as over_at, not exists
       (select 1 from ${name} as newer where newer.peer_id = old.peer_id and newer.seq > old.seq)
       as latest
     from ${name} as old where seq > :after order by seq limit :limit`,
    page,
  );
}

export function last(db: Reader, { name }: LogTable): number {
  return db.get(LastSeq, `select max(seq) as seq from ${name}`)?.seq ?? 0;
}

export function forget(tx: Tx, { name }: LogTable, seq: number): void {
  tx.run(`delete from ${name} where seq = :seq`, { seq });
}
