/** Faults of SQLite on demand: a statement that fails, and calls just before and after a commit. */

import { DatabaseSync, StatementSync } from "node:sqlite";

/** SQLite's result codes with their messages. */
const RESULTS = {
  full: [13, "database or disk is full"],
  io_error: [10, "disk I/O error"],
  busy: [5, "database is locked"],
} as const;

export type StoreFault = keyof typeof RESULTS;

/** A failure of one statement. */
export interface ArmedFault {
  readonly fault: StoreFault;
  /** The kind of statement that fails; `any` is every statement. */
  readonly at: "begin" | "commit" | "any";
  /** Number of these statements that succeed before. */
  readonly after: number;
  /** True if SQLite ends the open transaction by itself, as it may after such an error. */
  readonly endsTransaction: boolean;
}

const STATEMENTS = { begin: /^begin/, commit: /^commit/, any: /^/ } as const;

type Method = (this: StatementSync, ...args: unknown[]) => unknown;
const METHODS = ["run", "get", "all"] as const;

/** Replaces methods of all SQLite statements of this process until it is disposed of. */
export class SqliteFaults implements Disposable {
  /** Called before each commit, with the path of its database. */
  beforeCommit: ((path: string) => void) | undefined;
  /** Called after each commit, before any of its effects. */
  afterCommit: (() => void) | undefined;
  #armed: ArmedFault | undefined;
  #left = 0;
  #hit = false;
  readonly #databases = new WeakMap<StatementSync, DatabaseSync>();
  readonly #restore: (() => void)[] = [];

  constructor() {
    const { prepare } = DatabaseSync.prototype;
    const remember = (statement: StatementSync, database: DatabaseSync) =>
      void this.#databases.set(statement, database);
    DatabaseSync.prototype.prepare = function (...args) {
      const statement = prepare.apply(this, args);
      remember(statement, this);
      return statement;
    };
    this.#restore.push(() => DatabaseSync.prototype.prepare = prepare);
    const call = (statement: StatementSync, work: () => unknown) => this.#call(statement, work);
    const methods = StatementSync.prototype as unknown as Record<string, Method>;
    for (const name of METHODS) {
      const original = methods[name] as Method;
      methods[name] = function (...args) {
        return call(this, () => original.apply(this, args));
      };
      this.#restore.push(() => methods[name] = original);
    }
  }

  /** Lets one statement fail. */
  arm(fault: ArmedFault): void {
    this.#armed = fault;
    this.#left = fault.after;
  }

  /** Lets no statement fail any more. */
  disarm(): void {
    this.#armed = undefined;
  }

  /** As `disarm`, and forgets that a statement has failed. */
  reset(): void {
    this.#armed = undefined;
    this.#hit = false;
  }

  /** True if a statement has failed since the last reset. */
  get hit(): boolean {
    return this.#hit;
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore();
  }

  #call(statement: StatementSync, work: () => unknown): unknown {
    if (!this.#armed && !this.beforeCommit && !this.afterCommit) return work();
    const sql = statement.sourceSQL;
    this.#failIfArmed(statement, sql);
    const isCommit = STATEMENTS.commit.test(sql);
    if (isCommit) this.beforeCommit?.(this.#databases.get(statement)?.location() ?? "");
    const result = work();
    if (isCommit) this.afterCommit?.();
    return result;
  }

  #failIfArmed(statement: StatementSync, sql: string): void {
    const armed = this.#armed;
    // A rollback is what follows an error; SQLite can always do it.
    if (!armed || /^(rollback|release)/.test(sql) || !STATEMENTS[armed.at].test(sql)) return;
    if (this.#left-- > 0) return;
    this.#armed = undefined;
    this.#hit = true;
    const database = this.#databases.get(statement);
    if (armed.endsTransaction && database?.isTransaction) database.exec("rollback");
    const [errcode, errstr] = RESULTS[armed.fault];
    throw Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
  }
}
