/** Inserts that wait for the next other statement, or for the commit, and then run many at once. */

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

/** An insert into one table. Make it once with `bulkInsert`: its statements are kept. */
export interface BulkInsert {
  readonly table: string;
  readonly columns: readonly string[];
}

export function bulkInsert(table: string, columns: readonly string[]): BulkInsert {
  return { table, columns };
}

interface Row {
  readonly insert: BulkInsert;
  readonly values: readonly SQLInputValue[];
}

/** Rows of one statement; the rest is inserted row by row. */
const BATCH_ROWS = 8;
/** Maximum number of waiting rows. */
const ROWS_MAX = 1000;

export class DeferredInserts {
  readonly #sqlite: DatabaseSync;
  readonly #statements = new Map<BulkInsert, { single: StatementSync; batch: StatementSync }>();
  #rows: Row[] = [];
  /** Number of rows run since the start. */
  #run = 0;

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
  }

  /** Number of waiting rows. */
  get count(): number {
    return this.#rows.length;
  }

  /** True if the rows must run before another row is added. */
  get isFull(): boolean {
    return this.#rows.length >= ROWS_MAX;
  }

  /** The number of the next row. It separates the rows of a transaction from earlier rows. */
  get position(): number {
    return this.#run + this.#rows.length;
  }

  /** `values` are in the order of the columns. */
  add(insert: BulkInsert, values: readonly SQLInputValue[]): void {
    this.#rows.push({ insert, values });
  }

  /** Runs the rows before a position. Rows of one table keep their order. */
  runUntil(position: number): void {
    const count = position - this.#run;
    if (count <= 0) return;
    // SQLite would commit each row at once if it has ended the transaction.
    if (!this.#sqlite.isTransaction) throw new Error("SQLite has ended the transaction");
    const rows = this.#rows.splice(0, count);
    this.#run += rows.length;
    for (const [insert, values] of Map.groupBy(rows, ({ insert }) => insert)) {
      this.#insert(insert, values);
    }
  }

  /** Forgets the rows from a position on. */
  dropAfter(position: number): void {
    this.#rows.length = Math.min(this.#rows.length, Math.max(0, position - this.#run));
  }

  clear(): void {
    this.#rows = [];
  }

  #insert(insert: BulkInsert, rows: readonly Row[]): void {
    const { single, batch } = this.#statements.getOrInsertComputed(insert, () => ({
      single: this.#sqlite.prepare(toSql(insert, 1)),
      batch: this.#sqlite.prepare(toSql(insert, BATCH_ROWS)),
    }));
    let at = 0;
    for (; at + BATCH_ROWS <= rows.length; at += BATCH_ROWS) {
      batch.run(...rows.slice(at, at + BATCH_ROWS).flatMap(({ values }) => values));
    }
    for (const { values } of rows.slice(at)) single.run(...values);
  }
}

function toSql({ table, columns }: BulkInsert, rows: number): string {
  const row = `(${columns.map(() => "?").join(", ")})`;
  return `insert into ${table} (${columns.join(", ")}) values ${Array(rows).fill(row).join(", ")}`;
}
