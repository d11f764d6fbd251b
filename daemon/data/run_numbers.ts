/**
 * Ascending row numbers that no other run of the daemon uses, even a run that started from a copy
 * of the same file: an earlier backup, a rolled-back disk, a copied directory.
 *
 * At its start, each run skips a random part of the remaining numbers, and records the gap in the
 * table `number_gaps` (docs/decisions/041-numbers-are-given-once.md). A virtual machine that is
 * restored with its memory does not start again, so a step of the wall clock has the same effect.
 */

import * as z from "zod";
import { type Clock, ClockWatch, type Ids } from "kit/core/clock.ts";
import type { Database, Reader, Tx } from "kit/data/sqlite.ts";

/** Numbers have 48 bits: 12 hex digits, 15 decimal ones, exact in every JSON reader. */
export const NUMBER_MAX = 2 ** 48 - 1;
/**
 * A run skips at most this fraction of the remaining numbers. They never run out: after 5,000
 * starts, half of them remain. Two runs of 100,000 numbers each, from one file, overlap once in
 * 200,000 cases.
 */
const GAP_PARTS = 2 ** 13;

type Series = "messages" | "events";

/** The numbers after `last` and before `next`, which this database skips. */
const Gap = z.object({ last: z.number(), next: z.number() });
type Gap = z.output<typeof Gap>;

interface RunNumbersDeps {
  readonly db: Database;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly ids: Pick<Ids, "distance" | "renew">;
}

export class RunNumbers {
  readonly #deps: RunNumbersDeps;
  readonly #series: Series;
  readonly #clockWatch: ClockWatch<"monotonic">;
  /** The last number that was used or skipped. */
  #last: number;
  /** The last number before a gap that is not recorded yet. */
  #before_gap: number | undefined;

  /** `last`: the last number in the database, including deleted rows. */
  constructor(deps: RunNumbersDeps, series: Series, last: number) {
    this.#deps = deps;
    this.#series = series;
    this.#last = last;
    this.#clockWatch = new ClockWatch(deps.clock, "monotonic");
    this.#skip();
  }

  /** Takes the next number. It stays unused if its transaction is rolled back. */
  next(tx: Tx): number {
    if (this.#clockWatch.stepped() !== 0) {
      this.#deps.ids.renew();
      this.#skip();
    }
    if (this.#last >= NUMBER_MAX) throw new Error(`No number of ${this.#series} is left`);
    const next = ++this.#last;
    if (this.#before_gap !== undefined) this.#record(tx, { last: this.#before_gap, next });
    return next;
  }

  /** Frees a number after its transaction was rolled back, with all later numbers. */
  takeBack(number: number): void {
    this.#last = number - 1;
  }

  #skip(): void {
    const left = NUMBER_MAX - this.#last;
    const distance = this.#deps.ids.distance(Math.max(1, Math.floor(left / GAP_PARTS)));
    if (distance === 1) return;
    this.#before_gap ??= this.#last;
    this.#last = Math.min(this.#last + distance, NUMBER_MAX) - 1;
  }

  /** Records a gap. Deletes gaps before the oldest row, which no longer have an effect. */
  #record(tx: Tx, { last, next }: Gap): void {
    const { db } = this.#deps;
    this.#before_gap = undefined;
    db.afterRollback(() => this.#before_gap ??= last);
    tx.run(
      `delete from number_gaps where series = :series and next < (select min(${
        NUMBERS[this.#series]
      }) from ${this.#series})`,
      { series: this.#series },
    );
    tx.run("insert into number_gaps (series, last, next) values (:series, :last, :next)", {
      series: this.#series,
      last,
      next,
    });
  }
}

/** The column of the numbers in each table. */
const NUMBERS: Readonly<Record<Series, string>> = { messages: "seq", events: "id" };

/** The number that follows `last` in this database, unless it is the newest one. */
export function followerOf(db: Reader, series: Series, last: number): number {
  const next = db.value(
    z.number(),
    "select next from number_gaps where series = :series and last = :last",
    { series, last },
  );
  return next ?? last + 1;
}

/** The number of the row before the newest `count` ones, unused numbers included; at least 0. */
export function numberBefore(db: Reader, series: Series, { newest, count }: {
  readonly newest: number;
  readonly count: number;
}): number {
  let [last, left] = [newest, count];
  for (const gap of gapsOf(db, series)) {
    const numbers = last - gap.next + 1;
    if (numbers >= left) break;
    left -= numbers;
    last = gap.last;
  }
  return Math.max(0, last - left);
}

/** The gaps, newest first. */
function gapsOf(db: Reader, series: Series): Gap[] {
  return db.all(
    Gap,
    "select last, next from number_gaps where series = :series order by next desc",
    { series },
  );
}
