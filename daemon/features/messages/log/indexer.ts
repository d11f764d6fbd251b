/** Indexes the texts of messages for search: in small steps at each tick, and before a search. */

import { stopwatch } from "kit/core/clock.ts";
import type { Context } from "../../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import * as ledger from "../ledger/ledger.ts";
import type { IndexCursor } from "./store.ts";
import * as rows from "./store.ts";

/** Maximum rows indexed per step. A step blocks the event loop for 1 to 2 ms. */
const STEP_ROWS = 20;
/** A tick ends after this many rows and this much time, a tenth of a core. */
const TICK_ROWS = 2000;
const TICK_MS_MAX = 100;
/** During a flood, which is more messages than this between two ticks, the ticks index nothing. */
const FLOOD_ROWS = 1000;
/** The maximum number of ticks in a row that index nothing. */
const SKIPPED_TICKS_MAX = 10;
/** Maximum steps before a search, so that it finds new messages. They take 10 to 20 ms. */
const SEARCH_STEPS_MAX = 20;

interface Usage {
  readonly rows: number;
  readonly ms: number;
}

export class Indexer {
  readonly #ctx: Context;
  /** Aborts when the daemon shuts down. */
  readonly #shutdownSignal: AbortSignal;
  /** The number of the current tick. A new tick ends the steps of the previous tick. */
  #tickCount = 0;
  /** The number of the last message at the last tick. */
  #lastSeq: number;
  #skippedTicks = 0;

  constructor(ctx: Context, shutdownSignal: AbortSignal) {
    this.#ctx = ctx;
    this.#shutdownSignal = shutdownSignal;
    this.#lastSeq = ledger.lastSeq(ctx.db);
  }

  /** Indexes only without a flood, because a flood of messages needs the whole core. */
  tick(): void {
    const lastSeq = ledger.lastSeq(this.#ctx.db);
    const isFlood = this.#isFlood(lastSeq);
    this.#lastSeq = lastSeq;
    if (isFlood && ++this.#skippedTicks <= SKIPPED_TICKS_MAX) return void this.#tickCount++;
    this.#skippedTicks = 0;
    if (this.#isBehind()) this.#step(++this.#tickCount, { rows: 0, ms: 0 });
  }

  /** Each run skips many numbers, so a large number alone is not a flood of messages. */
  #isFlood(lastSeq: number): boolean {
    if (lastSeq - this.#lastSeq <= FLOOD_ROWS) return false;
    return rows.countAfter(this.#ctx.db, this.#lastSeq, FLOOD_ROWS + 1) > FLOOD_ROWS;
  }

  /** Indexes new messages, up to a limit. After a flood, the ticks index the rest. */
  catchUp(): void {
    this.#ctx.db.transact((tx) => {
      for (let step = 0; step < SEARCH_STEPS_MAX && this.#isBehind(); step++) this.#indexNext(tx);
    });
  }

  #isBehind(): boolean {
    const { db, events } = this.#ctx;
    const cursor = rows.cursor(db);
    return !cursor || cursor.seq < ledger.lastSeq(db) || cursor.event < events.last;
  }

  /**
   * Runs steps, each in its own turn of the event loop, so that requests run between them. The
   * first step of a tick waits for another commit; with more to do, waiting would take seconds.
   */
  #step(tick: number, before: Usage): void {
    const { db, clock } = this.#ctx;
    const work = (tx: Tx) => {
      const elapsedMs = stopwatch(clock);
      const count = this.#indexNext(tx);
      const used = { rows: before.rows + count, ms: before.ms + elapsedMs() };
      const hasMore = count > 0 && (used.rows < TICK_ROWS || used.ms < TICK_MS_MAX);
      db.afterCommit(() => {
        if (hasMore && tick === this.#tickCount && !this.#shutdownSignal.aborted) {
          this.#step(tick, used);
        }
      });
    };
    if (before.rows === 0) db.transactLazily(work);
    else db.transact(work);
  }

  /** Indexes the next messages, then new replies to indexed ones; returns the number read. */
  #indexNext(tx: Tx): number {
    const { db, events } = this.#ctx;
    const cursor = rows.cursor(db) ?? { seq: 0, event: events.last };
    const unindexed = rows.textsAfter(db, cursor.seq, STEP_ROWS);
    for (const texts of unindexed) {
      if (texts.text || texts.reply) rows.index(tx, texts);
    }
    const seq = unindexed.at(-1)?.seq ?? cursor.seq;
    const { count, event } = this.#indexReplies(tx, { seq, event: cursor.event });
    rows.saveCursor(tx, { seq, event });
    return unindexed.length + count;
  }

  /** Indexes new replies, which are found by the `ack` events that closed their asks. */
  #indexReplies(tx: Tx, cursor: IndexCursor): { count: number; event: number } {
    const { db, events } = this.#ctx;
    const { last } = events;
    const acks = events.read({ since: cursor.event, limit: STEP_ROWS, type: "ack" });
    for (const event of acks) {
      if (event.type !== "ack") continue;
      const texts = rows.textsOf(db, event.data.correlation_id);
      if (texts?.reply && texts.seq <= cursor.seq) rows.index(tx, texts);
    }
    const reached = acks.length === STEP_ROWS ? acks.at(-1)?.id : undefined;
    return { count: acks.length, event: reached ?? last };
  }
}
