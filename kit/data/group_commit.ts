/** Group commit: transactions that arrive together share one commit. Effects run after it. */

import { type Clock, stopwatch } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";

export type Effect = () => void;

/** The transactions of one commit, and the callbacks to run when the commit succeeds or fails. */
interface Group {
  transactions: number;
  /** Whether the commit is scheduled for the end of a turn, not only after a delay. */
  commitScheduled: boolean;
  readonly effects: Effect[];
  readonly rollbackCallbacks: Effect[];
  readonly waiters: { resolve: () => void; reject: (error: unknown) => void }[];
}

/** The connection on which groups are committed. */
export interface GroupCommitDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Runs one statement without parameters. */
  exec(sql: string): void;
  /** Whether SQLite has a transaction open. After some errors, SQLite ends it by itself. */
  isInTransaction(): boolean;
  /** Called after each commit, before the first effect runs. */
  onCommit(): void;
}

/** SQLite's primary result codes after which the whole group is rolled back. */
const FATAL_CODES = new Set([
  7, // NOMEM
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  26, // NOTADB
]);

/** A commit waits at most this many event loop turns (2 ms) while more transactions arrive. */
const COMMIT_TURNS_MAX = 8;

/** How long a commit that no caller waits for may be delayed, so that transactions share it. */
const LAZY_COMMIT_MS = 10;

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  #group: Group | undefined;
  #depth = 0;
  #commitDelayed = false;
  /** The number of commits since the start. */
  commits = 0;
  /** Called after each commit, with its time on the disk. */
  observeCommit: (took_ms: number) => void = () => undefined;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
  }

  /** Whether a group is open, so that a commit is still to come. */
  get isOpen(): boolean {
    return this.#group !== undefined;
  }

  /** Whether the caller runs inside of a transaction. */
  get isWithinTransaction(): boolean {
    return this.#depth > 0;
  }

  /** Runs a transaction in the open or a new group. A nested transaction joins the outer one. */
  run<T>(work: () => T, { lazily }: { lazily: boolean }): T {
    if (this.#depth > 0) return work();
    const group = this.#group ?? this.#begin();
    if (lazily) void this.#commitLater();
    else {
      group.transactions++;
      this.#scheduleCommit(group);
    }
    return this.#runInSavepoint(group, work);
  }

  /** As `run`, with a savepoint of its own also within another transaction. */
  runNested<T>(work: () => T): T {
    if (this.#depth > 0 && this.#group) return this.#runInSavepoint(this.#group, work);
    return this.run(work, { lazily: false });
  }

  afterCommit(effect: Effect): void {
    if (this.#depth === 0) throw new Error("Cannot add an effect outside of a transaction");
    this.#group?.effects.push(effect);
  }

  afterRollback(callback: Effect): void {
    if (this.#depth === 0) throw new Error("Cannot roll back outside of a transaction");
    this.#group?.rollbackCallbacks.push(callback);
  }

  whenDurable(): Promise<void> | undefined {
    const group = this.#group;
    if (!group) return undefined;
    this.#scheduleCommit(group);
    return new Promise((resolve, reject) => group.waiters.push({ resolve, reject }));
  }

  /** Commits the open group now, if there is one. Throws `storage_failed` if the commit fails. */
  flush(): void {
    const group = this.#group;
    if (!group) return;
    const error = this.#commit();
    this.#finish(group, error);
    if (error) throw error;
  }

  /** Forgets the open group. Used when a database is closed because it could not be opened. */
  discard(): void {
    this.#group = undefined;
  }

  #begin(): Group {
    try {
      this.#deps.exec("begin immediate");
    } catch (error) {
      throw new Problem("storage_failed", {}, error);
    }
    return this.#group = {
      transactions: 0,
      commitScheduled: false,
      effects: [],
      rollbackCallbacks: [],
      waiters: [],
    };
  }

  #runInSavepoint<T>(group: Group, work: () => T): T {
    const effectCount = group.effects.length;
    const callbackCount = group.rollbackCallbacks.length;
    this.#depth++;
    try {
      this.#deps.exec("savepoint work");
      const result = work();
      this.#deps.exec("release work");
      return result;
    } catch (error) {
      group.effects.length = effectCount;
      this.#runAll(group.rollbackCallbacks.splice(callbackCount).toReversed());
      throw this.#rollBack(error);
    } finally {
      this.#depth--;
    }
  }

  /**
   * Commits at the end of this turn. Waits for another turn, up to `COMMIT_TURNS_MAX` in all, as
   * long as more transactions arrive.
   */
  #scheduleCommit(group: Group): void {
    if (group.commitScheduled) return;
    group.commitScheduled = true;
    let { transactions } = group;
    let turns = 0;
    const commitWhenIdle = () => {
      if (this.#group !== group) return;
      if (group.transactions === transactions || ++turns === COMMIT_TURNS_MAX) {
        return this.#finish(group, this.#commit());
      }
      transactions = group.transactions;
      setImmediate(commitWhenIdle);
    };
    setImmediate(commitWhenIdle);
  }

  /** Schedules the commit after a delay. All transactions that begin during the delay share it. */
  async #commitLater(): Promise<void> {
    if (this.#commitDelayed) return;
    this.#commitDelayed = true;
    await this.#deps.clock.sleep(LAZY_COMMIT_MS);
    this.#commitDelayed = false;
    if (this.#group) this.#scheduleCommit(this.#group);
  }

  #commit(): Problem | undefined {
    try {
      const elapsed = stopwatch();
      this.#deps.exec("commit");
      this.commits++;
      this.observeCommit(elapsed());
      return undefined;
    } catch (error) {
      this.#deps.log.error("A commit failed", { error });
      this.#rollBackGroup();
      return new Problem("storage_failed", {}, error);
    }
  }

  /** Closes a group: settles its waiters, runs its effects or, on an error, rollback callbacks. */
  #finish(group: Group, error: Problem | undefined): void {
    this.#group = undefined;
    for (const { resolve, reject } of group.waiters) error ? reject(error) : resolve();
    if (error) return this.#runAll(group.rollbackCallbacks.splice(0).toReversed());
    this.#deps.onCommit();
    this.#runAll(group.effects);
  }

  /** Runs the effects in order. If an effect throws, logs the error and runs the next. */
  #runAll(effects: readonly Effect[]): void {
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        this.#deps.log.error("An effect failed", { error });
      }
    }
  }

  /**
   * Undoes one transaction, or the whole group if SQLite cannot go on. Returns the error to throw,
   * which is `storage_failed` for a group.
   */
  #rollBack(error: unknown): unknown {
    const { errcode } = error as { errcode?: number };
    const fatal = errcode !== undefined && FATAL_CODES.has(errcode & 0xff);
    if (!fatal && this.#deps.isInTransaction()) {
      this.#deps.exec("rollback to work");
      this.#deps.exec("release work");
      return error;
    }
    this.#rollBackGroup();
    this.#deps.log.error("A group of transactions was rolled back", { error });
    const problem = new Problem("storage_failed", {}, error);
    if (this.#group) this.#finish(this.#group, problem);
    return problem;
  }

  #rollBackGroup(): void {
    if (this.#deps.isInTransaction()) this.#deps.exec("rollback");
  }
}
