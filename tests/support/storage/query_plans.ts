/** Records the statements that SQLite compiles, and explains which of them read whole tables. */

import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";

const Plan = z.object({ detail: z.string() });
/** Reads a table, or an index of it, from its first row on. */
const SCAN = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/;

export interface RecordedStatements extends Disposable {
  /** The statements so far, without those that begin and end transactions. */
  readonly statements: ReadonlySet<string>;
  /** The statements that read a whole table; those that only read one of `indexes` are left out. */
  scansOf(db: Reader, table: string, indexes?: readonly string[]): string[];
  /** The steps by which SQLite runs a statement. */
  planOf(db: Reader, sql: string): string[];
}

/** Records what every database of this process compiles until it is disposed of. */
export function recordStatements(): RecordedStatements {
  const planOf = (db: Reader, sql: string) =>
    db.all(Plan, `explain query plan ${sql}`).map(({ detail }) => detail);
  const { prepare } = DatabaseSync.prototype;
  const statements = new Set<string>();
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    if (/^\s*(?:select|with|insert|update|delete)\b/i.test(sql)) statements.add(sql);
    return prepare.call(this, sql, ...rest);
  };
  return {
    statements,
    scansOf: (db, table, indexes = []) =>
      [...statements].filter((sql) =>
        planOf(db, sql).some((detail) => {
          const [, scanned, index] = SCAN.exec(detail) ?? [];
          return scanned === table && !(index !== undefined && indexes.includes(index));
        })
      ),
    planOf,
    [Symbol.dispose]: () => void (DatabaseSync.prototype.prepare = prepare),
  };
}
