/** Rows of one table, kept in memory until the table changes. */

import type { Database } from "kit/data/sqlite.ts";

/** Caches rows that are read often, such as once a second, and change rarely. */
export class TableView<T> {
  readonly #db: Database;
  readonly #table: string;
  readonly #read: (db: Database) => T;
  #kept: { readonly revision: number; readonly value: T } | undefined;

  /** `read` uses rows of this table only. */
  constructor(db: Database, table: string, read: (db: Database) => T) {
    this.#db = db;
    this.#table = table;
    this.#read = read;
  }

  get(): T {
    const revision = this.#db.revisionOf(this.#table);
    if (this.#kept?.revision !== revision) this.#kept = { revision, value: this.#read(this.#db) };
    return this.#kept.value;
  }
}
