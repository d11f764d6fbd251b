/** Failed writes of the database: reports them, repeats them, and recovers. */

import * as z from "zod";
import { type Clock, stopwatch } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Refusal } from "kit/core/problem.ts";
import { detached } from "kit/data/request_writes.ts";
import { messageOf } from "kit/core/text.ts";

/** A disk on which a commit takes this long is slow: every request waits for it. */
const SLOW_MS = 500;
/** Time for which a slow commit is reported. */
const SLOW_REPORTED_MS = 60_000;
/** Maximum number of transactions that wait to be run again. Further ones are dropped. */
const UNSTORED_MAX = 100_000;

interface StorageReport {
  readonly status: "ok" | "slow" | "failing";
  /** Since when, in milliseconds since the epoch; null if all is well. */
  readonly since: number | null;
  readonly reason: string | null;
}

/** The part of the database that is used here. */
interface Transactions<Tx> {
  transactLazily(work: (tx: Tx) => void): void;
  afterCommit(effect: () => void): void;
  afterRollback(callback: () => void): void;
}

/** The part of a transaction that writes the header of the file. */
interface HeaderTx {
  value(value: z.ZodNumber, sql: string): number | undefined;
  run(sql: string): number;
}

export class WriteFailures<Tx extends HeaderTx> {
  readonly #db: Transactions<Tx>;
  readonly #clock: Clock;
  readonly #log: Log;
  #failing: { since: number; elapsedMs: () => number; reason: string; count: number } | undefined;
  #slow: { at: number; elapsedMs: () => number; took_ms: number } | undefined;
  /** Writes of events that have happened but could not be stored yet. */
  readonly #unstored = new Set<(tx: Tx) => void>();

  constructor(db: Transactions<Tx>, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
  }

  report(): StorageReport {
    if (this.#failing) {
      return { status: "failing", since: this.#failing.since, reason: this.#failing.reason };
    }
    if (!this.#slow || this.#slow.elapsedMs() > SLOW_REPORTED_MS) {
      return { status: "ok", since: null, reason: null };
    }
    const { at, took_ms } = this.#slow;
    return { status: "slow", since: at, reason: `a commit took ${Math.round(took_ms)} ms` };
  }

  /** Called when a commit or a whole group failed. Only the first failure of a row is logged. */
  failed(what: string, error: unknown): void {
    if (this.#failing) this.#failing.count++;
    else {
      const elapsedMs = stopwatch(this.#clock);
      const reason = reasonOf(error);
      this.#failing = { since: this.#clock.now(), elapsedMs, reason, count: 1 };
      this.#log.error(what, { error });
    }
  }

  /** Called after each commit. */
  committed(took_ms: number): void {
    if (took_ms < SLOW_MS) return;
    this.#slow = { at: this.#clock.now(), elapsedMs: stopwatch(this.#clock), took_ms };
  }

  /**
   * Runs a transaction that records what has already happened, such as a frame that went out. If
   * it cannot be stored, it is run again once a second until it is.
   */
  repeatUntilStored(work: (tx: Tx) => void): void {
    try {
      detached(() =>
        this.#db.transactLazily((tx) => {
          this.#db.afterRollback(() => this.#keep(work));
          work(tx);
        })
      );
    } catch (error) {
      this.#unstored.delete(work);
      if (!(error instanceof Refusal && error.code === "storage_failed")) throw error;
      this.#keep(work);
    }
  }

  /** Called once a second: tries again what failed, or whether a write succeeds at all. */
  tick(): void {
    if (this.#failing) this.#unstored.add(this.#probe);
    for (const work of [...this.#unstored]) {
      this.#unstored.delete(work);
      this.repeatUntilStored(work);
    }
  }

  /**
   * Writes the header of the file as it is: the smallest write. A commit of other transactions is
   * no proof that the disk takes writes, because they may have changed nothing.
   */
  readonly #probe = (tx: Tx): void => {
    const version = tx.value(z.number(), "pragma user_version") ?? 0;
    tx.run(`pragma user_version = ${version}`);
    this.#db.afterCommit(() => this.#recovered());
  };

  #recovered(): void {
    if (!this.#failing) return;
    const { count, elapsedMs } = this.#failing;
    this.#failing = undefined;
    const failing_ms = Math.round(elapsedMs());
    this.#log.warn("The database can be written again", { failed_commits: count, failing_ms });
  }

  #keep(work: (tx: Tx) => void): void {
    if (this.#unstored.size < UNSTORED_MAX) this.#unstored.add(work);
  }
}

/** SQLite's own words, such as "database or disk is full". */
function reasonOf(error: unknown): string {
  const { errstr } = error as { errstr?: unknown };
  return typeof errstr === "string" ? errstr : messageOf(error);
}
