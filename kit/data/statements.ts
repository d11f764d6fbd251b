/** Prepared statements. Each is compiled once, and its parameters are bound by number. */

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type * as z from "zod";

/** The values of a statement's named parameters. A missing parameter is bound as null. */
export type Params = Record<string, SQLInputValue>;

/** A compiled statement, and the names of its numbered parameters in order. */
interface PreparedStatement {
  readonly statement: StatementSync;
  readonly names: readonly string[];
  /** The table that the statement writes to; undefined if its text does not begin with that. */
  readonly written: string | undefined;
}

/** Matches the start of a statement that writes to one table. */
const WRITE = /^\s*(?:(?:insert|replace)(?: or \w+)? into|update(?: or \w+)?|delete from)\s+(\w+)/i;

export class Statements {
  readonly #sqlite: DatabaseSync;
  readonly #prepared = new Map<string, PreparedStatement>();
  /** Number of writes to each table. */
  readonly #writes = new Map<string, number>();
  /** Number of statements run whose table is unknown. */
  #unknownWrites = 0;

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
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

  /** The first column of each row that a statement finds. */
  values<S extends z.ZodType>(value: S, sql: string, params: Params = {}): z.output<S>[] {
    const { statement, names } = this.#prepare(sql);
    const found = statement.all(...toValues(params, names));
    return found.map((row) => value.parse(Object.values(row)[0]));
  }

  run(sql: string, params: Params = {}) {
    const { statement, names } = this.#prepare(sql);
    return statement.run(...toValues(params, names));
  }

  /** As `run`, for a statement that writes. */
  write(sql: string, params?: Params) {
    this.#countWrite(sql);
    return this.run(sql, params);
  }

  /** As `values`, for a statement that writes. */
  writeReturning<S extends z.ZodType>(value: S, sql: string, params?: Params): z.output<S>[] {
    this.#countWrite(sql);
    return this.values(value, sql, params);
  }

  /** Counts a write to a table that another object makes. */
  countWriteTo(table: string): void {
    this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
  }

  /** Number of writes that may have changed a table. */
  writesTo(table: string): number {
    return (this.#writes.get(table) ?? 0) + this.#unknownWrites;
  }

  #countWrite(sql: string): void {
    const { written } = this.#prepare(sql);
    if (written === undefined) this.#unknownWrites++;
    else this.countWriteTo(written);
  }

  /** The stores' SQL texts are constants, so this map is bounded. */
  #prepare(sql: string): PreparedStatement {
    return this.#prepared.getOrInsertComputed(sql, () => {
      const { numbered, names } = toNumberedSql(sql);
      const written = WRITE.exec(sql)?.[1];
      return { statement: this.#sqlite.prepare(numbered), names, written };
    });
  }
}

/** Matches a named parameter, and strings and comments, because these may contain a colon. */
const PARAMETER = /'[^']*'|--[^\n]*|(\blimit )?:(\w+)/g;

/**
 * Replaces named parameters by numbered ones, because an insert of 30 columns takes half the time
 * when its values are bound by number. Also adds a plus sign to a `limit`. SQLite plans a statement
 * by the value of a bare limit and compiles the statement again each time that value is bound,
 * which takes ten times as long as running it.
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
