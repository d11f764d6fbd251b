/** Forgets messages that are old and done, a few a beat; what is open or waits stays. */

import * as z from "zod";
import type { Ground } from "kit/data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import * as ledger from "./ledger.ts";
import { forgetNotes } from "./stages.ts";

/** Messages that one beat looks at. */
const BEAT_ROWS_MAX = 100;
/** Between two walks through what is kept, when one has come to its end. */
const REST_MS = 60_000;

export interface RetentionLimits {
  /** How long a message is kept after its last step. */
  readonly history_ms: number;
  /** How many of the newest numbers are kept: what is done and older goes before its time. */
  readonly messages_max: number;
}

export class Retention {
  readonly #ground: Ground;
  readonly #limits: RetentionLimits;
  readonly #forgotten: (seq: number) => void;
  /** How far the walk has come, by number. What it has passed stays until the next walk. */
  #at = 0;
  #rest_until = 0;

  /** `forgotten` is told of each message that goes, in the same transaction. */
  constructor(ground: Ground, limits: RetentionLimits, forgotten: (seq: number) => void) {
    this.#ground = ground;
    this.#limits = limits;
    this.#forgotten = forgotten;
  }

  beat(now: number): void {
    if (now < this.#rest_until) return;
    const { db } = this.#ground;
    const { history_ms, messages_max } = this.#limits;
    const old = { before: now - history_ms, below: ledger.lastSeq(db) - messages_max };
    const looked = look(db, { ...old, after: this.#at, limit: BEAT_ROWS_MAX });
    const done = looked.filter((row) => row.done);
    if (done.length > 0) db.transact(() => this.#forget(done));
    const last = looked.at(-1);
    const young = !last || last.created_at >= old.before && last.seq > old.below;
    this.#at = young ? 0 : last.seq;
    if (young) this.#rest_until = now + REST_MS;
  }

  #forget(done: readonly Looked[]): void {
    const { db } = this.#ground;
    db.transact((tx) => ledger.forget(tx, done.map(({ seq }) => seq)));
    db.transact((tx) => forgetNotes(tx, done.map(({ ident }) => ident)));
    for (const { seq } of done) this.#forgotten(seq);
  }
}

const Looked = z.object({
  seq: z.number(),
  ident: z.string(),
  created_at: z.number(),
  done: z.number().transform(Boolean),
});
type Looked = z.output<typeof Looked>;

/** The next messages by number, and whether each is done and old. */
function look(
  db: Reader,
  from: { after: number; before: number; below: number; limit: number },
): Looked[] {
  return db.all(
    Looked,
    `select seq, ident, created_at,
       state <> 'queued' and under_way = 0 and ask_state is not 'open'
       and (seq <= :below or :before >
            max(created_at, coalesce(closed_at, 0), coalesce(settled_at, 0), coalesce(sent_at, 0),
                coalesce(accepted_at, 0), coalesce(seen_at, 0))) as done
     from messages where seq > :after order by seq limit :limit`,
    from,
  );
}
