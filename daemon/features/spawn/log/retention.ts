/** Forgets spawns and restarts that are over and old, a few a beat; what a peer needs stays. */

import type { Ground } from "kit/data/context.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import * as restarts from "../restarts/store.ts";
import * as spawns from "../store.ts";
import type { Entry, Page } from "./entry.ts";

/** Entries that one beat looks at. */
const BEAT_ROWS_MAX = 50;
/** Between two walks through what is kept, when one has come to its end. */
const REST_MS = 60_000;

export interface JournalLimits {
  /** How long an entry is kept once it is over. */
  readonly history_ms: number;
  /** How many of the newest numbers are kept: what is over and older goes before its time. */
  readonly entries_max: number;
}

/** One of the two tables. */
interface Shelf {
  after(db: Reader, page: Page): Entry[];
  last(db: Reader): number;
  forget(tx: Tx, seq: number): void;
  /** How far the walk has come, by number, and until when it rests. */
  at: number;
  rest_until: number;
}

export class JournalRetention {
  readonly #ground: Ground;
  readonly #limits: JournalLimits;
  readonly #isKnown: (peer_id: string) => boolean;
  readonly #shelves: readonly Shelf[] = [
    { ...spawns, at: 0, rest_until: 0 },
    { ...restarts, at: 0, rest_until: 0 },
  ];

  /** A peer that is known keeps its last spawn, for its profile, and its last restart. */
  constructor(ground: Ground, limits: JournalLimits, isKnown: (peer_id: string) => boolean) {
    this.#ground = ground;
    this.#limits = limits;
    this.#isKnown = isKnown;
  }

  beat(now: number): void {
    for (const shelf of this.#shelves) if (now >= shelf.rest_until) this.#walk(shelf, now);
  }

  #walk(shelf: Shelf, now: number): void {
    const { db } = this.#ground;
    const before = now - this.#limits.history_ms;
    const below = shelf.last(db) - this.#limits.entries_max;
    const looked = shelf.after(db, { after: shelf.at, limit: BEAT_ROWS_MAX });
    const gone = looked.filter((entry) => {
      const { seq, over_at } = entry;
      return over_at !== null && (over_at < before || seq <= below) && !this.#isNeeded(entry);
    });
    if (gone.length > 0) db.transact((tx) => gone.forEach(({ seq }) => shelf.forget(tx, seq)));
    shelf.at = looked.at(-1)?.seq ?? 0;
    if (looked.length === BEAT_ROWS_MAX) return;
    shelf.at = 0;
    shelf.rest_until = now + REST_MS;
  }

  #isNeeded({ peer_id, latest }: Entry): boolean {
    return latest && peer_id !== null && this.#isKnown(peer_id);
  }
}
