/** SQLite: typed rows, writes only inside of a transaction, and one commit for many writes. */

import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from "node:sqlite";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Instant } from "kit/core/schema.ts";
import { type BulkInsert, DeferredInserts } from "kit/data/deferred_inserts.ts";
import { type Effect, GroupCommit } from "kit/data/group_commit.ts";
import { type Params, Statements } from "kit/data/statements.ts";
import { WriteFailures } from "kit/data/write_failures.ts";

/** A transaction returns no promise, so that nothing interleaves between its reads and writes. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/**
 * Maximum wait of a write while another process writes to the file. Readers, such as a backup, do
 * not block writes in WAL mode.
 */
const BUSY_MS_MAX = 5000;

/**
 * Memory for cached pages. Messages are appended to their table, so a larger cache does not help:
 * with 16 MiB, no flood of messages was faster, and SQLite does not give the memory back.
 */
const CACHE_KIB = 4096;

const PRAGMAS = `pragma journal_mode = wal; pragma synchronous = full; pragma fullfsync = on;
  pragma busy_timeout = ${BUSY_MS_MAX};
  pragma temp_store = memory; pragma cache_size = -${CACHE_KIB}`;

/** The interface for reading: a database, or a transaction on it. */
export interface Reader {
  /** Returns the row that a statement finds; undefined if it finds none. */
  get<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S> | undefined;
  all<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S>[];
  /** Returns the first column of the only row that a statement finds. */
  value<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S> | undefined;
  /** Returns the first column of each row that a statement finds. */
  values<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S>[];
  /** See `Database.revisionOf`. */
  revisionOf(table: string): number;
  /** The database, for what is kept of its rows. */
  readonly database: object;
}

/**
 * An open transaction, the only way to write. Use it only in the function that received it: a write
 * outside of any transaction throws.
 */
export interface Tx extends Reader {
  /** Runs one statement; returns the number of rows that it changed. */
  run(sql: string, params?: Params): number;
  /** Runs one insert; returns the rowid of the new row. */
  insert(sql: string, params: Params): number;
  /**
   * Inserts a row with the next other statement, or with the commit, so that many rows share one
   * statement. `values` are in the order of the columns. An insert that fails then fails all
   * transactions of the commit: use it only for rows that the database accepts for certain.
   */
  insertLater(insert: BulkInsert, values: readonly SQLInputValue[]): void;
  /** Runs one write; returns the first column of each row that its `returning` clause names. */
  returning<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S>[];
}

/** Callbacks around a migration of a database. */
interface MigrationGuard {
  /** Called before a database with content is changed. If it throws, nothing is changed. */
  copy(path: string, version: number, database: DatabaseSync): void;
  /** Advice for the user if the database is newer than the program. */
  adviceFor(path: string, supported: number): string;
}

export class Database implements Disposable, Reader {
  readonly #sqlite: DatabaseSync;
  readonly #statements: Statements;
  readonly #deferred: DeferredInserts;
  readonly #groups: GroupCommit;
  readonly failures: WriteFailures<Tx>;
  readonly database = this;
  readonly #tx: Tx = {
    get: (row, sql, params) => this.get(row, sql, params),
    all: (row, sql, params) => this.all(row, sql, params),
    value: (value, sql, params) => this.value(value, sql, params),
    values: (value, sql, params) => this.values(value, sql, params),
    revisionOf: (table) => this.revisionOf(table),
    database: this,
    run: (sql, params) => Number(this.#write(sql, params).changes),
    insert: (sql, params) => Number(this.#write(sql, params).lastInsertRowid),
    insertLater: (insert, values) => this.#insertLater(insert, values),
    returning: (value, sql, params) => {
      this.#groups.prepareStatement({ writes: true });
      return this.#statements.writeReturning(value, sql, params);
    },
  };
  #checkpointDue = false;
  #rollbacks = 0;
  #watches = 0;
  #closed = false;
  /** The value of `commits` when a checkpoint last moved the whole log; undefined before that. */
  #checkpointedCommits: number | undefined;

  /**
   * Opens the file and runs missing migrations, each in its own transaction. If one fails, those
   * before it stay applied.
   */
  constructor(
    path: string,
    migrations: readonly string[],
    log: Log,
    clock: Clock,
    guard?: MigrationGuard,
  ) {
    const sqlite = this.#sqlite = new DatabaseSync(path, { enableForeignKeyConstraints: true });
    const statements = this.#statements = new Statements(sqlite);
    const deferred = this.#deferred = new DeferredInserts(sqlite);
    const failures = this.failures = new WriteFailures<Tx>(this, { clock, log });
    this.#groups = new GroupCommit({
      clock,
      log,
      failures,
      deferred,
      exec: (sql) => void statements.run(sql),
      isInTransaction: () => sqlite.isTransaction,
      onRollback: () => void this.#rollbacks++,
      onCommit: () => {
        if (this.#checkpointDue) this.checkpoint();
      },
    });
    sqlite.exec(PRAGMAS);
    try {
      this.#migrate(path, migrations, guard);
    } catch (error) {
      this.#groups.discard();
      sqlite.close();
      throw error;
    }
  }

  /** The number of commits since the start, for `/metrics`. */
  get commits(): number {
    return this.#groups.commits;
  }

  /** True if a commit is still to come: what is read now may be rolled back. */
  get hasOpenGroup(): boolean {
    return this.#groups.isOpen;
  }

  get isWithinTransaction(): boolean {
    return this.#groups.isWithinTransaction;
  }

  /** Calls the observer after each commit, with the time that the commit took. */
  observeCommits(observer: (took_ms: number) => void): void {
    this.#groups.observeCommit = observer;
  }

  /**
   * A number that rises whenever rows of a table may have changed, by a write or by a rollback.
   * Rows read at a number are current as long as the number is the same.
   */
  revisionOf(table: string): number {
    return this.#statements.writesTo(table) + this.#rollbacks;
  }

  /**
   * Watches some values of a table's rows, such as `${row}.name`. Returns a number that rises when
   * a row is inserted or deleted, when one of its values changes, and on a rollback. Unlike that of
   * `revisionOf`, it stays the same while a statement writes other values.
   */
  watch(table: string, valuesOf: (row: "old" | "new") => readonly string[]): () => number {
    let changes = 0;
    const count = `count_changes_of_${table}_${++this.#watches}`;
    this.#sqlite.function(count, () => {
      changes++;
      return null;
    });
    const news = valuesOf("new");
    const isChanged = valuesOf("old").map((value, at) => `(${value}) is not (${news[at]})`)
      .join(" or ");
    for (const event of ["insert", "delete", "update"]) {
      const condition = event === "update" ? `when ${isChanged}` : "";
      this.#sqlite.exec(`create temp trigger ${count}_${event} after ${event} on main.${table}
        ${condition} begin select ${count}(); end`);
    }
    return () => changes + this.#rollbacks;
  }

  /** The size of the database file, without the write-ahead log. */
  get bytes(): number {
    return this.value(
      z.number(),
      "select page_count * page_size from pragma_page_count(), pragma_page_size()",
    ) ?? 0;
  }

  /** Defines an SQL function. Indexes may use it, so its result depends on its argument only. */
  define(name: string, work: (value: SQLOutputValue) => SQLInputValue): void {
    this.#sqlite.function(name, { deterministic: true }, work);
  }

  get<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S> | undefined {
    return this.#groups.read(() => this.#statements.get(row, sql, params));
  }

  all<S extends z.ZodType>(row: S, sql: string, params?: Params): z.output<S>[] {
    return this.#groups.read(() => this.#statements.all(row, sql, params));
  }

  value<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S> | undefined {
    return this.values(value, sql, params)[0];
  }

  values<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S>[] {
    return this.#groups.read(() => this.#statements.values(value, sql, params));
  }

  /**
   * Runs a transaction in a savepoint of the open group. If the transaction throws, only this
   * transaction is rolled back, and its effects are dropped. After an error that SQLite cannot
   * recover from, the whole group is rolled back. A nested transaction joins the outer transaction:
   * it has no savepoint, so what it wrote stays if the outer one catches its error.
   */
  transact<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    return this.#groups.run(() => work(this.#tx), { lazily: false });
  }

  /** As `transact`. Within another transaction, an error rolls back only this work. */
  transactNested<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    return this.#groups.runNested(() => work(this.#tx));
  }

  /** As `transact`, for writes that no caller waits for. Other transactions share its commit. */
  transactLazily<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    return this.#groups.run(() => work(this.#tx), { lazily: true });
  }

  /** As `transact`, but commits before it returns. For secrets, migrations and the start. */
  transactNow<T>(work: (tx: Tx) => Synchronous<T>): Synchronous<T> {
    if (this.#groups.isWithinTransaction) throw new Error("Cannot commit inside of a transaction");
    this.flush();
    const result = this.transact(work);
    this.flush();
    return result;
  }

  /** Runs `effect` once this transaction is durable. Never runs it after a rollback. */
  afterCommit(effect: Effect): void {
    this.#groups.afterCommit(effect);
  }

  /**
   * Runs `callback` when this transaction or its group rolls back: for counts in memory that later
   * transactions of the turn must see before the commit. Change all else in `afterCommit`.
   */
  afterRollback(callback: Effect): void {
    this.#groups.afterRollback(callback);
  }

  /**
   * Resolves when all writes so far are on the disk. Undefined if they already are. Without `soon`,
   * lazy transactions wait for their delay, or for a commit that others need sooner.
   */
  whenDurable(options = { soon: true }): Promise<void> | undefined {
    return this.#groups.whenDurable(options);
  }

  /** Lets an answer leave that does not wait for the commit of the open group, if there is one. */
  letAnswerLeave(): void {
    this.#groups.letAnswerLeave();
  }

  /** Commits the open group now, if there is one. Throws `storage_failed` if the commit fails. */
  flush(): void {
    this.#groups.flush();
  }

  /**
   * Moves the write-ahead log into the database file, except for parts that a reader still needs.
   * If a group is open, the checkpoint runs right after that group's commit, before the group's
   * effects can open the next group. SQLite also moves the log by itself whenever 4 MB were
   * written; for one second of a flood of messages, this takes 25 ms.
   */
  checkpoint(): void {
    this.#checkpointDue = this.#groups.isOpen;
    if (this.#groups.isOpen || this.#checkpointedCommits === this.commits) return;
    try {
      const done = this.#statements.get(Checkpoint, "pragma wal_checkpoint(passive)");
      if (done?.log === done?.checkpointed) this.#checkpointedCommits = this.commits;
    } catch (error) { // All commits are safe in the log; a later checkpoint moves them.
      this.failures.failed("A checkpoint failed", error);
    }
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#groups.close();
    } finally {
      this.#sqlite.close();
    }
  }

  #write(sql: string, params?: Params) {
    this.#groups.prepareStatement({ writes: true });
    return this.#statements.write(sql, params);
  }

  #insertLater(insert: BulkInsert, values: readonly SQLInputValue[]): void {
    this.#groups.mustBeWithinTransaction();
    if (this.#deferred.isFull) this.#groups.prepareStatement({ writes: true });
    this.#statements.countWriteTo(insert.table);
    this.#deferred.add(insert, values);
  }

  #migrate(path: string, migrations: readonly string[], guard: MigrationGuard | undefined): void {
    const version = this.value(z.number(), "pragma user_version") ?? 0;
    if (version > migrations.length) {
      throw new Error(
        `Cannot open the database: its version is ${version}, and this program supports versions ` +
          `up to ${migrations.length}; use a newer program` +
          (guard?.adviceFor(path, migrations.length) ?? ""),
      );
    }
    if (version > 0 && version < migrations.length) guard?.copy(path, version, this.#sqlite);
    migrations.slice(version).forEach((sql, index) => {
      const next = version + index + 1;
      this.transactNow(() => {
        this.#groups.prepareStatement({ writes: true });
        this.#sqlite.exec(`${sql}; pragma user_version = ${next}`);
      });
    });
  }
}

/** Number of frames in the write-ahead log, and number of those in the database file. */
const Checkpoint = z.object({ log: z.number(), checkpointed: z.number() });

const BooleanInteger = z.codec(z.union([z.literal(0), z.literal(1)]), z.boolean(), {
  decode: (bit) => bit === 1,
  encode: (flag) => flag ? 1 : 0,
});

/** The schema of a record's row: decodes what SQLite returns, encodes the record's parameters. */
type RowOf<S extends z.ZodObject> = z.ZodType<
  z.output<S>,
  Record<string, string | number | null>
>;

/**
 * Derives the row of a record: an `Instant` is stored as an integer of milliseconds, a boolean as 0
 * or 1, an array or object as JSON text, and any other field unchanged.
 */
export function rowOf<S extends z.ZodObject>(record: S): RowOf<S> {
  const shape = Object.entries(record.shape).map(([key, field]) => [key, toColumn(field)]);
  return z.object(Object.fromEntries(shape)) as unknown as RowOf<S>;
}

/** The columns of an insert, each with the parameter of its name. */
export function toValues(columns: readonly string[]): string {
  return `(${columns.join(", ")}) values (${columns.map((column) => `:${column}`).join(", ")})`;
}

/** The assignments of an update, each from the parameter of its column's name. */
export function toAssignments(columns: readonly string[]): string {
  return columns.map((column) => `${column} = :${column}`).join(", ");
}

/** The row of a table's records, and the statements that every such table needs. */
export function tableOf<S extends z.ZodObject>(table: string, record: S, key: string) {
  const row = rowOf(record);
  const columns = Object.keys(record.shape);
  const insert = `insert into ${table} ${toValues(columns)}`;
  const changed = toAssignments(columns.filter((column) => column !== key));
  const update = `update ${table} set ${changed} where ${key} = :${key}`;
  const select = `select ${columns.join(", ")} from ${table}`;
  return {
    row,
    select,
    insert: (tx: Tx, values: z.output<S>): number => tx.insert(insert, z.encode(row, values)),
    update: (tx: Tx, values: z.output<S>): number => tx.run(update, z.encode(row, values)),
    get: (db: Reader, id: string): z.output<S> | undefined =>
      db.get(row, `${select} where ${key} = :id`, { id }),
    /** Returns the records that the rest of a `select` finds: its conditions, order and limit. */
    all: (db: Reader, rest: string, params?: Params): z.output<S>[] =>
      db.all(row, `${select} ${rest}`, params),
    remove: (tx: Tx, id: string): number =>
      tx.run(`delete from ${table} where ${key} = :id`, { id }),
  };
}

/** The functions of a table that read one record, and that write one. */
interface RecordAccess<T> {
  get(db: Reader, id: string): T | undefined;
  update(tx: Tx, record: T): number;
}

/**
 * Keeps the record that was read or written last, as long as no other row of its table changes.
 * Only for a table without cascades and triggers that write to it. A reader of a large record for
 * several rules then parses it once. Records are frozen, as their readers share them.
 */
export function rememberLast<T extends object>(
  table: string,
  idOf: (record: T) => string,
  { get, update }: RecordAccess<T>,
): RecordAccess<T> {
  const last = new WeakMap<object, { id: string; revision: number; record: T | undefined }>();
  const remember = (db: Reader, id: string, record: T | undefined): void => {
    last.set(db.database, { id, revision: db.revisionOf(table), record });
  };
  return {
    get: (db, id) => {
      const known = last.get(db.database);
      if (known?.id === id && known.revision === db.revisionOf(table)) return known.record;
      const record = get(db, id);
      remember(db, id, record && Object.freeze(record));
      return record;
    },
    update: (tx, record) => {
      const count = update(tx, record);
      remember(tx, idOf(record), count === 0 ? undefined : Object.freeze({ ...record }));
      return count;
    },
  };
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
