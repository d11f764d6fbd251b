/**
 * Deletes old spawns and restarts, a few per tick. Entries that an existing peer needs are kept.
 */

import type { Context } from "../../../data/context.ts";
import * as rows from "./store.ts";
import type { LogEntry, LogTable } from "./store.ts";

/** Maximum entries examined per tick in each table. */
const TICK_ROWS_MAX = 50;
/** The pause between two passes through a table. */
const PAUSE_MS = 60_000;

/** Maximum spawns kept, and maximum restarts kept. */
export const SPAWN_LOG_ENTRIES_MAX = 10_000;

interface SpawnLogLimits {
  /** Time for which a finished entry is kept. */
  readonly history_ms: number;
  /** Maximum finished entries kept. Older ones are deleted before `history_ms` has passed. */
  readonly entries_max: number;
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
  ];

  /**
   * `isKnown` is true if a peer still exists. Then its last spawn (which names its profile) and its
   * last restart are kept.
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
    const below = rows.last(db, table) - this.#limits.entries_max;
    const scanned = rows.after(db, table, { after: table.cursor, limit: TICK_ROWS_MAX });
    const removable = scanned.filter((entry) => {
      const { seq, over_at } = entry;
      return over_at !== null && (over_at < before || seq <= below) && !this.#isNeeded(entry);
    });
    if (removable.length > 0) {
      db.transact((tx) => removable.forEach(({ seq }) => rows.forget(tx, table, seq)));
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
