/** Deletes old spawns, restarts and wakes, a few per tick, unless an existing peer needs them. */

import type { Context } from "../../data/context.ts";
import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";

/** Maximum entries examined per tick in each table. */
const TICK_ROWS_MAX = 50;
/** The pause between two passes through a table. */
const PAUSE_MS = 60_000;

/** Maximum spawns kept, and as many restarts and wakes. */
export const SPAWN_LOG_ENTRIES_MAX = 10_000;

interface SpawnLogLimits {
  /** Time for which a finished entry is kept. */
  readonly history_ms: number;
  /** Maximum finished entries kept. Older ones are deleted before `history_ms` has passed. */
  readonly entries_max: number;
}

/** A table, and its column with the instant when an entry was over. */
interface LogTable {
  readonly name: "spawns" | "restarts" | "wakes";
  readonly over_at: "settled_at" | "finished_at" | "ended_at";
}

interface Pass extends LogTable {
  /** The last sequence number of the current pass, and when the next pass may begin. */
  cursor: number;
  paused_until: number;
}

export class SpawnLogRetention {
  readonly #ctx: Context;
  readonly #limits: SpawnLogLimits;
  readonly #isKnown: (peer_id: string) => boolean;
  readonly #tables: readonly Pass[] = [
    { name: "spawns", over_at: "settled_at", cursor: 0, paused_until: 0 },
    { name: "restarts", over_at: "finished_at", cursor: 0, paused_until: 0 },
    { name: "wakes", over_at: "ended_at", cursor: 0, paused_until: 0 },
  ];

  /**
   * `isKnown` is true if a peer still exists. Then its last spawn (which names its profile), its
   * last restart and its last wake are kept.
   */
  constructor(ctx: Context, limits: SpawnLogLimits, isKnown: (peer_id: string) => boolean) {
    this.#ctx = ctx;
    this.#limits = limits;
    this.#isKnown = isKnown;
  }

  tick(now: number): void {
    const monotonic = this.#ctx.clock.monotonic();
    for (const table of this.#tables) {
      if (monotonic >= table.paused_until) this.#prune(table, now);
    }
  }

  #prune(table: Pass, now: number): void {
    const { db } = this.#ctx;
    const before = now - this.#limits.history_ms;
    const below = lastSeq(db, table) - this.#limits.entries_max;
    const scanned = entriesAfter(db, table, { after: table.cursor, limit: TICK_ROWS_MAX });
    const removable = scanned.filter((entry) => {
      const { seq, over_at } = entry;
      return over_at !== null && (over_at < before || seq <= below) && !this.#isNeeded(entry);
    });
    if (removable.length > 0) {
      db.transact((tx) => removable.forEach(({ seq }) => forget(tx, table, seq)));
    }
    table.cursor = scanned.at(-1)?.seq ?? 0;
    if (scanned.length === TICK_ROWS_MAX) return;
    table.cursor = 0;
    table.paused_until = this.#ctx.clock.monotonic() + PAUSE_MS;
  }

  #isNeeded({ peer_id, latest }: LogEntry): boolean {
    return latest && peer_id !== null && this.#isKnown(peer_id);
  }
}

/** An entry, with the fields that decide how long it is kept. */
const LogEntry = z.object({
  seq: z.number(),
  peer_id: z.string().nullable(),
  /** The end of the entry; null while it is in progress. */
  over_at: z.number().nullable(),
  /** True if this is the newest entry of its peer. */
  latest: z.number().transform(Boolean),
});
type LogEntry = z.output<typeof LogEntry>;

/** The highest sequence number of a table; null when it is empty. */
const LastSeq = z.object({ seq: z.number().nullable() });

function entriesAfter(
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

function lastSeq(db: Reader, { name }: LogTable): number {
  return db.get(LastSeq, `select max(seq) as seq from ${name}`)?.seq ?? 0;
}

function forget(tx: Tx, { name }: LogTable, seq: number): void {
  tx.run(`delete from ${name} where seq = :seq`, { seq });
}
