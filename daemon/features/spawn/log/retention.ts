/** Forgets spawns and restarts that are over and old, a few a beat; what a peer needs stays. */

import type { Context } from "kit/data/context.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import * as restarts from "../restarts/store.ts";
import * as spawns from "../store.ts";
import type { LogEntry, LogPage } from "./entry.ts";

/** Entries that one beat looks at. */
const TICK_ROWS_MAX = 50;
/** Between two walks through what is kept, when one has come to its end. */
const PAUSE_MS = 60_000;

/** Entries kept of each, spawns and restarts, if they are not older than the history. */
export const SPAWN_LOG_ENTRIES_MAX = 10_000;

export interface SpawnLogLimits {
  /** How long an entry is kept once it is over. */
  readonly history_ms: number;
  /** How many of the newest numbers are kept: what is over and older goes before its time. */
  readonly entries_max: number;
}

/** One of the two tables. */
interface LogTable {
  after(db: Reader, page: LogPage): LogEntry[];
  last(db: Reader): number;
  forget(tx: Tx, seq: number): void;
  /** How far the walk has come, by number, and until when it rests. */
  cursor: number;
  paused_until: number;
}

export class SpawnLogRetention {
  readonly #ctx: Context;
  readonly #limits: SpawnLogLimits;
  readonly #isKnown: (peer_id: string) => boolean;
  readonly #tables: readonly LogTable[] = [
    { ...spawns, cursor: 0, paused_until: 0 },
    { ...restarts, cursor: 0, paused_until: 0 },
  ];

  /** A peer that is known keeps its last spawn, for its profile, and its last restart. */
  constructor(ctx: Context, limits: SpawnLogLimits, isKnown: (peer_id: string) => boolean) {
    this.#ctx = ctx;
    this.#limits = limits;
    this.#isKnown = isKnown;
  }

  tick(now: number): void {
    for (const table of this.#tables) if (now >= table.paused_until) this.#prune(table, now);
  }

  #prune(table: LogTable, now: number): void {
    const { db } = this.#ctx;
    const before = now - this.#limits.history_ms;
    const below = table.last(db) - this.#limits.entries_max;
    const scanned = table.after(db, { after: table.cursor, limit: TICK_ROWS_MAX });
    const removable = scanned.filter((entry) => {
      const { seq, over_at } = entry;
      return over_at !== null && (over_at < before || seq <= below) && !this.#isNeeded(entry);
    });
    if (removable.length > 0) {
      db.transact((tx) => removable.forEach(({ seq }) => table.forget(tx, seq)));
    }
    table.cursor = scanned.at(-1)?.seq ?? 0;
    if (scanned.length === TICK_ROWS_MAX) return;
    table.cursor = 0;
    table.paused_until = now + PAUSE_MS;
  }

  #isNeeded({ peer_id, latest }: LogEntry): boolean {
    return latest && peer_id !== null && this.#isKnown(peer_id);
  }
}
