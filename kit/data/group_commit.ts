/** Group commit: transactions that arrive together share one commit. Effects run after it. */

import { type Clock, stopwatch } from "kit/core/clock.ts";
import type { DeferredInserts } from "kit/data/deferred_inserts.ts";
import type { Log } from "kit/core/log.ts";
import { CommonProblem, type Refusal } from "kit/core/problem.ts";
import { detached, RequestWrites } from "kit/data/request_writes.ts";
import type { WriteFailures } from "kit/data/write_failures.ts";

export type Effect = () => void;

/** The transactions of one commit, and the callbacks to run when the commit succeeds or fails. */
interface Group {
  transactions: number;
  /** True if the commit is scheduled for the end of a turn, not only after a delay. */
  commitScheduled: boolean;
  /** Turns of the event loop in which an answer leaves, before the commit; absent without one. */
  turnsForAnswer: number | undefined;
  readonly effects: Effect[];
  readonly rollbackCallbacks: Effect[];
  /** The requests that have written in it. */
  readonly requests: Set<RequestWrites>;
  /** Settled when the commit has succeeded or failed. Absent without a waiting caller. */
  durable: PromiseWithResolvers<void> | undefined;
}

/** A running transaction, as a rollback needs it. */
interface RunningTransaction {
  /** Numbers of effects, callbacks and deferred inserts at the transaction's begin. */
  readonly effects: number;
  readonly rollbackCallbacks: number;
  readonly deferred: number;
  /** True if SQLite has a savepoint for it. It gets one before its first statement. */
  hasSavepoint: boolean;
}

/** The connection on which groups are committed. */
interface GroupCommitDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly failures: Pick<WriteFailures<never>, "committed" | "failed">;
  readonly deferred: DeferredInserts;
  /** Runs one statement without parameters. */
  exec(sql: string): void;
  /** True if SQLite has a transaction open. After some errors, SQLite ends it by itself. */
  isInTransaction(): boolean;
  /** Called after each commit, before the first effect runs. */
  onCommit(): void;
  /** Called when a transaction or a whole group was rolled back. */
  onRollback(): void;
}

/** SQLite's primary result codes after which the whole group is rolled back. */
const FATAL_CODES = new Set([
  7, // NOMEM
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  26, // NOTADB
]);

/** The runtime writes a response within this many event loop turns. */
const ANSWER_TURNS = 2;

/** A commit waits at most this many event loop turns (2 ms) while more transactions arrive. */
const COMMIT_TURNS_MAX = 8;

/**
 * Maximum delay of a commit that no caller waits for, so that its transactions share a later
 * commit. It may take twice as long, because one timer serves all groups.
 */
const LAZY_COMMIT_MS = 10;

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  #group: Group | undefined;
  /** The running transactions, outermost first. */
  readonly #running: RunningTransaction[] = [];
  #commitDelayed = false;
  #isClosed = false;
  /** The number of commits since the start. */
  commits = 0;
  /** Called after each commit, with the time that it and the inserts before it took. */
  observeCommit: (took_ms: number) => void = () => undefined;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
  }

  /** True if a group is open, so that a commit is still to come. */
  get isOpen(): boolean {
    return this.#group !== undefined;
  }

  /** True if the caller runs inside of a transaction. */
  get isWithinTransaction(): boolean {
    return this.#running.length > 0;
  }

  /** Runs a transaction in the open or a new group. A nested one joins the outer transaction. */
  run<T>(work: () => T, { lazily }: { lazily: boolean }): T {
    if (this.isWithinTransaction) return work();
    const group = this.#openGroup() ?? this.#begin();
    if (lazily) void this.#commitLater();
    else {
      group.transactions++;
      this.#scheduleCommit(group);
    }
    return this.#runInTransaction(group, work);
  }

  /** As `run`, with a savepoint of its own also within another transaction. */
  runNested<T>(work: () => T): T {
    if (this.isWithinTransaction && this.#group) return this.#runInTransaction(this.#group, work);
    return this.run(work, { lazily: false });
  }

  afterCommit(effect: Effect): void {
    if (!this.isWithinTransaction) throw new Error("Cannot add an effect outside of a transaction");
    this.#group?.effects.push(effect);
  }

  afterRollback(callback: Effect): void {
    if (!this.isWithinTransaction) throw new Error("Cannot roll back outside of a transaction");
    this.#group?.rollbackCallbacks.push(callback);
  }

  whenDurable({ soon }: { soon: boolean }): Promise<void> | undefined {
    const group = this.#group;
    if (!group) return undefined;
    if (soon) this.#scheduleCommit(group);
    return (group.durable ??= Promise.withResolvers()).promise;
  }

  /**
   * Lets an answer leave without the commit of the open group, if one is open. That group then
   * closes, so an event that follows the answer finds its effects done.
   */
  letAnswerLeave(): void {
    if (this.#group) this.#group.turnsForAnswer = ANSWER_TURNS;
  }

  /** Commits the open group now, if there is one. Throws `storage_failed` if the commit fails. */
  flush(): void {
    const group = this.#group;
    if (!group) return;
    const error = this.#commit();
    this.#finish(group, error);
    if (error) throw error;
  }

  /** Commits the open group and those that its effects open; later reads and writes throw. */
  close(): void {
    try {
      while (this.#group) this.flush();
    } finally {
      this.#isClosed = true;
    }
  }

  /** Forgets the open group. Used when a database is closed because it could not be opened. */
  discard(): void {
    this.#group = undefined;
  }

  /** The open group. One whose answer has left is committed instead. */
  #openGroup(): Group | undefined {
    const group = this.#group;
    if (group?.turnsForAnswer === undefined) return group;
    this.#finish(group, this.#commit());
    return this.#group;
  }

  #begin(): Group {
    this.#mustBeOpen();
    try {
      this.#deps.exec("begin immediate");
    } catch (error) {
      this.#deps.failures.failed("A transaction could not begin", error);
      throw new CommonProblem("storage_failed", {}, error);
    }
    return this.#group = {
      transactions: 0,
      commitScheduled: false,
      turnsForAnswer: undefined,
      effects: [],
      rollbackCallbacks: [],
      requests: new Set(),
      durable: undefined,
    };
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new CommonProblem("shutting_down", {});
  }

  mustBeWithinTransaction(): void {
    if (!this.isWithinTransaction) throw new Error("Cannot write outside of a transaction");
  }

  /**
   * Call it before each statement: runs the deferred inserts, which the statement may depend on. A
   * write also needs a savepoint, so that it can be undone alone.
   */
  prepareStatement({ writes }: { writes: boolean }): void {
    const { deferred, exec, isInTransaction } = this.#deps;
    this.#mustBeOpen();
    if (writes) this.mustBeWithinTransaction();
    else if (deferred.count === 0) return;
    // SQLite has ended the transaction: it would commit the statement at once.
    if (!isInTransaction()) throw new CommonProblem("storage_failed", {});
    for (const transaction of this.#running) {
      if (transaction.hasSavepoint) continue;
      this.#runDeferred(transaction.deferred);
      exec("savepoint work");
      transaction.hasSavepoint = true;
    }
    if (this.isWithinTransaction) deferred.runUntil(deferred.position);
    else this.#runDeferred(deferred.position);
  }

  /**
   * Runs a read. Outside of a transaction, an error that SQLite cannot recover from fails the open
   * group, as within one: a caller that is answered with this error may have written in the group.
   */
  read<T>(work: () => T): T {
    this.prepareStatement({ writes: false });
    try {
      return work();
    } catch (error) {
      // A running transaction fails the group when it is rolled back.
      if (!this.#group || this.isWithinTransaction || !this.#failsGroup(error)) throw error;
      this.#rollBackGroup();
      throw this.#failGroup(error);
    }
  }

  /** Runs inserts of transactions that have ended. An error fails the whole group. */
  #runDeferred(position: number): void {
    try {
      this.#deps.deferred.runUntil(position);
    } catch (error) {
      this.#rollBackGroup();
      // The running transaction fails the group when it is rolled back.
      throw this.isWithinTransaction ? error : this.#failGroup(error);
    }
  }

  #runInTransaction<T>(group: Group, work: () => T): T {
    const { deferred, exec } = this.#deps;
    const transaction = {
      effects: group.effects.length,
      rollbackCallbacks: group.rollbackCallbacks.length,
      deferred: deferred.position,
      hasSavepoint: false,
    };
    this.#running.push(transaction);
    try {
      const result = work();
      if (transaction.hasSavepoint) exec("release work");
      const hasWritten = transaction.hasSavepoint || deferred.position > transaction.deferred;
      const request = hasWritten ? RequestWrites.current : undefined;
      if (request) group.requests.add(request);
      return result;
    } catch (error) {
      group.effects.length = transaction.effects;
      const callbacks = group.rollbackCallbacks.splice(transaction.rollbackCallbacks);
      runAll(callbacks.toReversed(), this.#deps.log);
      throw this.#rollBack(error, transaction);
    } finally {
      this.#running.pop();
    }
  }

  #scheduleCommit(group: Group): void {
    atTurnEnd(group, () => {
      if (this.#group === group) this.#finish(group, this.#commit());
    });
  }

  /** Schedules the commit after a delay. A group that began during it gets a delay of its own. */
  async #commitLater(): Promise<void> {
    if (this.#commitDelayed) return;
    this.#commitDelayed = true;
    const waiting = await oldGroup(() => this.#group, this.#deps.clock);
    this.#commitDelayed = false;
    if (waiting) this.#scheduleCommit(waiting);
  }

  #commit(): Refusal | undefined {
    const { deferred, exec, failures } = this.#deps;
    const elapsed = stopwatch();
    try {
      deferred.runUntil(deferred.position);
      exec("commit");
      this.commits++;
      const took_ms = elapsed();
      this.observeCommit(took_ms);
      failures.committed(took_ms);
      return undefined;
    } catch (error) {
      failures.failed("A commit failed", error);
      this.#rollBackGroup();
      return new CommonProblem("storage_failed", {}, error);
    }
  }

  /** Closes a group: resolves its waiters, runs its effects or, on an error, rollback callbacks. */
  #finish(group: Group, error: Refusal | undefined): void {
    this.#group = undefined;
    for (const request of group.requests) request.settle(error);
    if (error) group.durable?.reject(error);
    else group.durable?.resolve();
    const { log, onCommit } = this.#deps;
    if (error) return runAll(group.rollbackCallbacks.splice(0).toReversed(), log);
    runAll([onCommit], log); // The group is on the disk, even if this fails.
    if (group.effects.length > 0) detached(() => runAll(group.effects, log));
  }

  /**
   * Undoes one transaction, or the whole group if SQLite cannot go on. Returns the error to throw,
   * which is `storage_failed` for a group.
   */
  #rollBack(error: unknown, { deferred, hasSavepoint }: RunningTransaction): unknown {
    if (this.#failsGroup(error)) {
      this.#rollBackGroup();
      return this.#failGroup(error);
    }
    this.#deps.deferred.dropAfter(deferred);
    if (!hasSavepoint) return error;
    this.#deps.exec("rollback to work");
    this.#deps.exec("release work");
    this.#deps.onRollback();
    return error;
  }

  /** True after an error with which SQLite cannot go on in the transaction of the group. */
  #failsGroup(error: unknown): boolean {
    const { errcode } = error as { errcode?: number };
    const isFatal = errcode !== undefined && FATAL_CODES.has(errcode & 0xff);
    return isFatal || !this.#deps.isInTransaction();
  }

  /** Ends a group that was rolled back. Returns the error to throw. */
  #failGroup(error: unknown): Refusal {
    this.#deps.failures.failed("A group of transactions was rolled back", error);
    const problem = new CommonProblem("storage_failed", {}, error);
    if (this.#group) this.#finish(this.#group, problem);
    return problem;
  }

  #rollBackGroup(): void {
    this.#deps.deferred.clear();
    this.#deps.onRollback();
    if (this.#deps.isInTransaction()) this.#deps.exec("rollback");
  }
}

/**
 * The group that is open after a delay, and was open before it. A group that was opened during the
 * delay gets one of its own.
 */
async function oldGroup(
  open: () => Group | undefined,
  clock: Pick<Clock, "sleep">,
): Promise<Group | undefined> {
  let waiting: Group | undefined;
  while (open() !== waiting) {
    waiting = open();
    await clock.sleep(LAZY_COMMIT_MS);
  }
  return waiting;
}

/**
 * Commits a group at the end of this turn. Waits for another turn, up to `COMMIT_TURNS_MAX` in all,
 * as long as more transactions arrive.
 */
function atTurnEnd(group: Group, commit: () => void): void {
  if (group.commitScheduled) return;
  group.commitScheduled = true;
  let { transactions } = group;
  let turns = 0;
  setImmediate(function commitWhenIdle() {
    const isIdle = group.transactions === transactions && !letsAnswerLeave(group);
    if (isIdle || ++turns === COMMIT_TURNS_MAX) return commit();
    transactions = group.transactions;
    setImmediate(commitWhenIdle);
  });
}

/** Counts a turn in which an answer may leave; false without one, or after enough turns. */
function letsAnswerLeave(group: Group): boolean {
  if (group.turnsForAnswer === undefined || group.turnsForAnswer === 0) return false;
  group.turnsForAnswer--;
  return true;
}

/** Runs the effects in order. If an effect throws, logs the error and runs the next. */
function runAll(effects: readonly Effect[], log: Log): void {
  for (const effect of effects) {
    try {
      effect();
    } catch (error) {
      log.error("An effect failed", { error });
    }
  }
}
