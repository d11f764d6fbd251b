/** SQL for what is kept of spawns and restarts. Each function is one statement; none decides. */

import { z } from "zod";
import type { Database } from "kit/sqlite.ts";

/** One entry, as far as it decides whether it is kept. */
const Entry = z.object({
  seq: z.number(),
  peer_id: z.string().nullable(),
  /** When nothing was left to wait for. */
  over_at: z.number().nullable(),
  /** Whether its peer has none that is newer. */
  latest: z.number().transform(Boolean),
});
export type Entry = z.output<typeof Entry>;

const Last = z.object({ seq: z.number().nullable() });

export interface Page {
  readonly [name: string]: number;
  readonly after: number;
  readonly limit: number;
}

export function spawnsAfter(db: Database, page: Page): Entry[] {
  return db.all(
    Entry,
    `select seq, peer_id, settled_at as over_at, not exists
       (select 1 from spawns as newer where newer.peer_id = old.peer_id and newer.seq > old.seq)
       as latest
     from spawns as old where seq > :after order by seq limit :limit`,
    page,
  );
}

export function restartsAfter(db: Database, page: Page): Entry[] {
  return db.all(
    Entry,
    `select seq, peer_id, finished_at as over_at, not exists
       (select 1 from restarts as newer where newer.peer_id = old.peer_id and newer.seq > old.seq)
       as latest
     from restarts as old where seq > :after order by seq limit :limit`,
    page,
  );
}

export function lastSpawn(db: Database): number {
  return db.get(Last, "select max(seq) as seq from spawns")?.seq ?? 0;
}

export function lastRestart(db: Database): number {
  return db.get(Last, "select max(seq) as seq from restarts")?.seq ?? 0;
}

export function forgetSpawn(db: Database, seq: number): void {
  db.run("delete from spawns where seq = :seq", { seq });
}

export function forgetRestart(db: Database, seq: number): void {
  db.run("delete from restarts where seq = :seq", { seq });
}
