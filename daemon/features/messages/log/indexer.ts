/** Feeds the full text: on the heart's beat, in small steps, and before a search what is new. */

import type { Ground } from "kit/data/context.ts";
import * as ledger from "../ledger/ledger.ts";
import type { Marks } from "./store.ts";
import * as rows from "./store.ts";

/** A step is one turn's work, which all that comes in meanwhile waits for: 1 to 2 ms. */
const STEP_ROWS = 40;
/** What a beat feeds in any case, and how long it goes on beyond that: a tenth of a core. */
const BEAT_ROWS = 2000;
const BEAT_MS_MAX = 100;
/** What a search feeds before it looks, so that it finds what was just said: 10 to 20 ms. */
const SEARCH_STEPS_MAX = 10;

interface Spent {
  readonly rows: number;
  readonly ms: number;
}

export class Feed {
  readonly #ground: Ground;
  /** Aborts as the daemon goes down. */
  readonly #ending: AbortSignal;
  /** A beat takes over from the one before, whatever that one had left to do. */
  #beats = 0;

  constructor(ground: Ground, ending: AbortSignal) {
    this.#ground = ground;
    this.#ending = ending;
  }

  beat(): void {
    if (this.#isBehind()) this.#step(++this.#beats, { rows: 0, ms: 0 });
  }

  /** Feeds what is new, if that is little: after a flood, the heart has to come by first. */
  catchUp(): void {
    this.#ground.db.transact(() => {
      for (let step = 0; step < SEARCH_STEPS_MAX && this.#isBehind(); step++) this.#feed();
    });
  }

  #isBehind(): boolean {
    const { db, events } = this.#ground;
    const marks = rows.marks(db);
    return !marks || marks.seq < ledger.lastSeq(db) || marks.event < events.last;
  }

  /** Each step is a turn of its own, so that requests are answered between them. */
  #step(beat: number, before: Spent): void {
    const { db, clock } = this.#ground;
    db.transactAtLeisure(() => {
      const began = clock.now();
      const count = this.#feed();
      const spent = { rows: before.rows + count, ms: before.ms + clock.now() - began };
      const more = count > 0 && (spent.rows < BEAT_ROWS || spent.ms < BEAT_MS_MAX);
      db.afterCommit(() => {
        if (more && beat === this.#beats && !this.#ending.aborted) this.#step(beat, spent);
      });
    });
  }

  /** The next messages by number, then the replies that came to those fed before; how many. */
  #feed(): number {
    const { db, events } = this.#ground;
    const marks = rows.marks(db) ?? { seq: 0, event: events.last };
    const fresh = rows.after(db, marks.seq, STEP_ROWS);
    for (const words of fresh) {
      if (words.text || words.reply) db.transact((tx) => rows.feed(tx, words));
    }
    const seq = fresh.at(-1)?.seq ?? marks.seq;
    const { count, event } = this.#feedReplies({ seq, event: marks.event });
    db.transact((tx) => rows.mark(tx, { seq, event }));
    return fresh.length + count;
  }

  /** Every end of an ask is an event, so that the events' numbers say which asks to look at. */
  #feedReplies(marks: Marks): { count: number; event: number } {
    const { db, events } = this.#ground;
    const { last } = events;
    const ends = events.read({ since: marks.event, limit: STEP_ROWS, type: "ack" });
    for (const event of ends) {
      if (event.type !== "ack") continue;
      const words = rows.wordsOf(db, event.data.correlation_id);
      if (words?.reply && words.seq <= marks.seq) db.transact((tx) => rows.feed(tx, words));
    }
    const reached = ends.length === STEP_ROWS ? ends.at(-1)?.id : undefined;
    return { count: ends.length, event: reached ?? last };
  }
}
