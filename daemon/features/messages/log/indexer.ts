/** Feeds the full text: on the heart's beat, in small steps, and before a search what is new. */

import type { Context } from "kit/data/context.ts";
import * as ledger from "../ledger/ledger.ts";
import type { IndexCursor } from "./store.ts";
import * as rows from "./store.ts";

/** A step is one turn's work, which all that comes in meanwhile waits for: 1 to 2 ms. */
const STEP_ROWS = 40;
/** What a beat feeds in any case, and how long it goes on beyond that: a tenth of a core. */
const TICK_ROWS = 2000;
const TICK_MS_MAX = 100;
/** What a search feeds before it looks, so that it finds what was just said: 10 to 20 ms. */
const SEARCH_STEPS_MAX = 10;

interface Usage {
  readonly rows: number;
  readonly ms: number;
}

export class Indexer {
  readonly #ctx: Context;
  /** Aborts as the daemon goes down. */
  readonly #shutdownSignal: AbortSignal;
  /** A beat takes over from the one before, whatever that one had left to do. */
  #tickCount = 0;

  constructor(ctx: Context, shutdownSignal: AbortSignal) {
    this.#ctx = ctx;
    this.#shutdownSignal = shutdownSignal;
  }

  tick(): void {
    if (this.#isBehind()) this.#step(++this.#tickCount, { rows: 0, ms: 0 });
  }

  /** Feeds what is new, if that is little: after a flood, the heart has to come by first. */
  catchUp(): void {
    this.#ctx.db.transact(() => {
      for (let step = 0; step < SEARCH_STEPS_MAX && this.#isBehind(); step++) this.#indexNext();
    });
  }

  #isBehind(): boolean {
    const { db, events } = this.#ctx;
    const cursor = rows.cursor(db);
    return !cursor || cursor.seq < ledger.lastSeq(db) || cursor.event < events.last;
  }

  /** Each step is a turn of its own, so that requests are answered between them. */
  #step(tick: number, before: Usage): void {
    const { db, clock } = this.#ctx;
    db.transactLazily(() => {
      const started_at = clock.now();
      const count = this.#indexNext();
      const used = { rows: before.rows + count, ms: before.ms + clock.now() - started_at };
      const hasMore = count > 0 && (used.rows < TICK_ROWS || used.ms < TICK_MS_MAX);
      db.afterCommit(() => {
        if (hasMore && tick === this.#tickCount && !this.#shutdownSignal.aborted) {
          this.#step(tick, used);
        }
      });
    });
  }

  /** The next messages by number, then the replies that came to those fed before; how many. */
  #indexNext(): number {
    const { db, events } = this.#ctx;
    const cursor = rows.cursor(db) ?? { seq: 0, event: events.last };
    const unindexed = rows.textsAfter(db, cursor.seq, STEP_ROWS);
    for (const texts of unindexed) {
      if (texts.text || texts.reply) db.transact((tx) => rows.index(tx, texts));
    }
    const seq = unindexed.at(-1)?.seq ?? cursor.seq;
    const { count, event } = this.#indexReplies({ seq, event: cursor.event });
    db.transact((tx) => rows.saveCursor(tx, { seq, event }));
    return unindexed.length + count;
  }

  /** Every end of an ask is an event, so that the events' numbers say which asks to look at. */
  #indexReplies(cursor: IndexCursor): { count: number; event: number } {
    const { db, events } = this.#ctx;
    const { last } = events;
    const acks = events.read({ since: cursor.event, limit: STEP_ROWS, type: "ack" });
    for (const event of acks) {
      if (event.type !== "ack") continue;
      const texts = rows.textsOf(db, event.data.correlation_id);
      if (texts?.reply && texts.seq <= cursor.seq) db.transact((tx) => rows.index(tx, texts));
    }
    const reached = acks.length === STEP_ROWS ? acks.at(-1)?.id : undefined;
    return { count: acks.length, event: reached ?? last };
  }
}
