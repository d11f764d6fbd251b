/** SQLite with group commit: a savepoint a verb, one commit a turn, effects after it. */

import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import * as z from "zod";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { Instant } from "kit/core/schema.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";

type Params = Record<string, SQLInputValue>;
type Effect = () => void;

/** A transaction may not return a promise: nothing interleaves between what it reads and writes. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/** A statement, and the parameters that its numbers stand for. */
interface Prepared {
  readonly statement: StatementSync;
  readonly names: readonly string[];
}

/** The verbs of one turn: what to do once they are on the disk, or not, and who waits for that. */
interface Group {
  transactions: number;
  /** Whether its commit is under way: it waits for no company. */
  commitScheduled: boolean;
  readonly effects: Effect[];
  readonly rollbackCallbacks: Effect[];
  readonly waiters: { resolve: () => void; reject: (error: unknown) => void }[];
}

/** SQLite's primary result codes after which the whole transaction is given up. */
const FATAL_CODES = new Set([
  7, // NOMEM
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  26, // NOTADB
]);

/** How long another process (a backup, a reader) may hold the file before we give up. */
const BUSY_MS_MAX = 5000;

/** Turns that a commit waits at most while more verbs come in: some 2 ms of a flood. */
const COMMIT_TURNS_MAX = 8;

/** How long the commit of what nobody waits for may wait for company. */
const LAZY_COMMIT_MS = 10;

/**
 * Pages that are kept in memory. Messages are written at the end of their table, so that more is of
 * no use (16 MiB made no flood faster), and what was once taken is not given back to the machine.
 */
const CACHE_KIB = 4096;

/** What can be read: a database, or a transaction of it. */
export interface Reader {
  /** The one row that a statement finds; undefined for none. */
  get<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S> | undefined;
  all<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S>[];
}

/**
 * An open transaction: the only way to write. It is good until the work that was given it returns;
 * to write with it later throws.
 */
export interface Tx extends Reader {
  /** Runs one statement; the number of rows that it changed. */
  run(sql: string, params?: Params): number;
  /** Runs one insert; the rowid of the new row. */
  insert(sql: string, params: Params): number;
}

export class Database implements Disposable, Reader {
  readonly #sqlite: DatabaseSync;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #statements = new Map<string, Prepared>();
  readonly #tx: Tx = {
    get: (row, sql, params) => this.get(row, sql, params),
    all: (row, sql, params) => this.all(row, sql, params),
    run: (sql, params = {}) => Number(this.#write(sql, params).changes),
    insert: (sql, params) => Number(this.#write(sql, params).lastInsertRowid),
  };
  #group: Group | undefined;
  #depth = 0;
  #checkpointDue = false;
  #commitDelayed = false;
  #closed = false;
  /** Commits since the start, for `/metrics`. */
  commits = 0;
  /** How many of them a checkpoint has moved; before the first one, more may lie in the log. */
  #checkpointedCommits: number | undefined;

  constructor(
    path: string,
    migrations: readonly string[],
    log: Log,
    clock: Clock = systemClock,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#sqlite = new DatabaseSync(path, { enableForeignKeyConstraints: true });
    this.#sqlite.exec(
      `pragma journal_mode = wal; pragma synchronous = full; pragma fullfsync = on;
       pragma busy_timeout = ${BUSY_MS_MAX};
       pragma temp_store = memory; pragma cache_size = -${CACHE_KIB}`,
    );
    try {
      this.#migrate(migrations);
    } catch (error) {
      this.#group = undefined;
      this.#sqlite.close();
      throw error;
    }
  }

  /** Gives SQL a function of ours: of its arguments only, or indexes and plans would lie. */
  define(name: string, work: (value: SQLOutputValue) => SQLInputValue): void {
    this.#sqlite.function(name, { deterministic: true }, work);
  }

  get<S extends z.ZodType>(row: S, sql: string, params: Params = {}): z.output<S> | undefined {
    const { statement, names } = this.#prepare(sql);
    const found = statement.get(...toValues(params, names));
    return found && row.parse(found);
  }

  all<S extends z.ZodType>(row: S, sql: string, params: Params = {}): z.output<S>[] {
    const { statement, names } = this.#prepare(sql);
    return statement.all(...toValues(params, names)).map((found) => row.parse(found));
  }

  /**
   * Runs a verb in its own savepoint of the turn's transaction. A verb that throws rolls back
   * alone, and its effects are cut off with it. A nested verb joins the outer one.
   */
  transact<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    if (this.#depth > 0) return work(this.#tx);
    const group = this.#group ?? this.#begin();
    group.transactions++;
    this.#scheduleCommit(group);
    return this.#attempt(group, work);
  }

  /** As `transact`, for what nobody waits for: its commit waits a little for another's. */
  transactLazily<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    if (this.#depth > 0) return work(this.#tx);
    const group = this.#group ?? this.#begin();
    void this.#commitLater();
    return this.#attempt(group, work);
  }

  /** A group of one, committed before it returns: for secrets, migrations and shutdown. */
  transactNow<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    if (this.#depth > 0) throw new Error("Cannot commit inside of a verb");
    this.flush();
    const result = this.transact(work);
    this.flush();
    return result;
  }

  /** Runs `effect` once this verb is durable; never if it, or its group, rolls back. */
  afterCommit(effect: Effect): void {
    if (this.#depth === 0) throw new Error("Cannot wait for a commit outside of a verb");
    this.#group?.effects.push(effect);
  }

  /**
   * Runs `undo` once this verb, or its group, rolls back: for a count that the verbs of one turn
   * have to see before it is on the disk. All else that memory holds is changed by effects.
   */
  afterRollback(callback: Effect): void {
    if (this.#depth === 0) throw new Error("Cannot roll back outside of a verb");
    this.#group?.rollbackCallbacks.push(callback);
  }

  /** Resolves when all that was worked out so far is on the disk; undefined when it is already. */
  whenDurable(): Promise<void> | undefined {
    const group = this.#group;
    if (!group) return undefined;
    this.#scheduleCommit(group);
    return new Promise((resolve, reject) => group.waiters.push({ resolve, reject }));
  }

  /** Commits the open group now, if there is one. Throws `storage_failed` when it cannot. */
  flush(): void {
    const group = this.#group;
    if (!group) return;
    const error = this.#commit();
    this.#finish(group, error);
    if (error) throw error;
  }

  /**
   * Moves what the write-ahead log holds into the database, as far as no reader is in the way. With
   * a group open it is done right after its commit, before any effect can open the next. What is
   * written in between SQLite moves by itself, every 4 MB: a flood's second at once takes 25 ms.
   */
  checkpoint(): void {
    this.#checkpointDue = this.#group !== undefined;
    if (this.#group || this.#checkpointedCommits === this.commits) return;
    const { statement } = this.#prepare("pragma wal_checkpoint(passive)");
    const done = statement.get();
    if (done?.["log"] === done?.["checkpointed"]) this.#checkpointedCommits = this.commits;
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.flush();
    } finally {
      this.#sqlite.close();
    }
  }

  #attempt<T>(group: Group, work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    const savepoint = {
      effects: group.effects.length,
      rollbackCallbacks: group.rollbackCallbacks.length,
    };
    this.#depth++;
    try {
      this.#exec("savepoint verb");
      const result = work(this.#tx);
      this.#exec("release verb");
      return result;
    } catch (error) {
      group.effects.length = savepoint.effects;
      this.#run(group.rollbackCallbacks.splice(savepoint.rollbackCallbacks).toReversed());
      throw this.#rollBack(error);
    } finally {
      this.#depth--;
    }
  }

  #begin(): Group {
    try {
      this.#exec("begin immediate");
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

  /** Commits at the turn's end; or a turn later, while more come in that can share the commit. */
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

  /** Commits what is open a little later; one sleep serves all that begin in it. */
  async #commitLater(): Promise<void> {
    if (this.#commitDelayed) return;
    this.#commitDelayed = true;
    await this.#clock.sleep(LAZY_COMMIT_MS);
    this.#commitDelayed = false;
    if (this.#group) this.#scheduleCommit(this.#group);
  }

  #commit(): Problem | undefined {
    try {
      this.#exec("commit");
      this.commits++;
      return undefined;
    } catch (error) {
      this.#log.error("A commit failed", { error });
      if (this.#sqlite.isTransaction) this.#sqlite.exec("rollback");
      return new Problem("storage_failed", {}, error);
    }
  }

  /** Ends a group: those who wait hear the truth, effects (or else undos) run, each on its own. */
  #finish(group: Group, error: Problem | undefined): void {
    this.#group = undefined;
    for (const { resolve, reject } of group.waiters) error ? reject(error) : resolve();
    if (error) return this.#run(group.rollbackCallbacks.splice(0).toReversed());
    if (this.#checkpointDue) this.checkpoint();
    this.#run(group.effects);
  }

  /** One after the other; a fault of one is logged, and the next one runs. */
  #run(effects: readonly Effect[]): void {
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        this.#log.error("An effect failed", { error });
      }
    }
  }

  /** A write after the end of its transaction, or after SQLite gave that up, would be for good. */
  #write(sql: string, params: Params) {
    if (this.#depth === 0) throw new Error("Cannot write outside of a transaction");
    if (!this.#sqlite.isTransaction) throw new Problem("storage_failed", {});
    const { statement, names } = this.#prepare(sql);
    return statement.run(...toValues(params, names));
  }

  /** Takes back one verb, or the whole group when SQLite has given it up. */
  #rollBack(error: unknown): unknown {
    const { errcode } = error as { errcode?: number };
    const fatal = errcode !== undefined && FATAL_CODES.has(errcode & 0xff);
    if (!fatal && this.#sqlite.isTransaction) {
      this.#exec("rollback to verb");
      this.#exec("release verb");
      return error;
    }
    if (this.#sqlite.isTransaction) this.#sqlite.exec("rollback");
    this.#log.error("A transaction was given up", { error });
    const problem = new Problem("storage_failed", {}, error);
    if (this.#group) this.#finish(this.#group, problem);
    return problem;
  }

  #exec(sql: string): void {
    this.#prepare(sql).statement.run();
  }

  /** Statements are prepared once; the SQL in the stores is constant, so this map is bounded. */
  #prepare(sql: string): Prepared {
    return this.#statements.getOrInsertComputed(sql, () => {
      const { numbered, names } = toNumberedSql(sql);
      return { statement: this.#sqlite.prepare(numbered), names };
    });
  }

  #migrate(migrations: readonly string[]): void {
    const { user_version } = this.#sqlite.prepare("pragma user_version").get() as {
      user_version: number;
    };
    if (user_version > migrations.length) {
      throw new Error(
        `Cannot open the database: it is at version ${user_version}, and this program knows ` +
          `${migrations.length}; use a newer program`,
      );
    }
    migrations.slice(user_version).forEach((sql, index) => {
      const version = user_version + index + 1;
      this.transactNow(() => this.#sqlite.exec(`${sql}; pragma user_version = ${version}`));
    });
  }
}

/** What is not a parameter although it holds a colon, or a parameter's name. */
const PARAMETER = /'[^']*'|--[^\n]*|(\blimit )?:(\w+)/g;

/**
 * Numbers the named parameters: bound by number, an insert of 30 columns takes half the time. A
 * limit gets a sign: SQLite plans by the value of a bare one, and so compiles the whole statement
 * again each time that it is bound, which takes ten times as long as to run it.
 */
function toNumberedSql(sql: string): { numbered: string; names: string[] } {
  const names: string[] = [];
  const numbered = sql.replaceAll(PARAMETER, (token, limit?: string, name?: string) => {
    if (name === undefined) return token;
    if (!names.includes(name)) names.push(name);
    return `${limit ? "limit +" : ""}?${names.indexOf(name) + 1}`;
  });
  return { numbered, names };
}

function toValues(params: Params, names: readonly string[]): SQLInputValue[] {
  return names.map((name) => params[name] ?? null);
}

const BooleanInteger = z.codec(z.union([z.literal(0), z.literal(1)]), z.boolean(), {
  decode: (bit) => bit === 1,
  encode: (flag) => flag ? 1 : 0,
});

/** The row of a record: what SQLite gives, parsed to what the house holds in memory. */
export type RowOf<S extends z.ZodObject> = z.ZodType<
  z.output<S>,
  Record<string, string | number | null>
>;

/**
 * Instant becomes an integer of milliseconds, a boolean 0 or 1, an array or object JSON text;
 * nothing else changes. Parse a row with it, encode a record to its parameters.
 */
export function rowOf<S extends z.ZodObject>(record: S): RowOf<S> {
  const shape = Object.entries(record.shape).map(([key, field]) => [key, toColumn(field)]);
  return z.object(Object.fromEntries(shape)) as unknown as RowOf<S>;
}

function toColumn(field: z.core.$ZodType): z.ZodType {
  if (field instanceof z.ZodNullable) return toColumn(field.unwrap()).nullable();
  if (field === Instant) return z.number().int();
  if (field instanceof z.ZodBoolean) return BooleanInteger;
  if (field instanceof z.ZodArray || field instanceof z.ZodObject || field instanceof z.ZodRecord) {
    return z.codec(z.string(), field, {
      decode: (text) => JSON.parse(text),
      encode: (value) => JSON.stringify(value),
    });
  }
  return field as z.ZodType;
}
