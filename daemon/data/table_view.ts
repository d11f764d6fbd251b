/** Results of reading a table, kept in memory until its rows change. */

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

/** The maximum number of answers of one kind. Callers choose the arguments, such as names. */
export const ANSWERS_MAX = 10_000;

/** Answers to questions about a table: each is read once, and again after a change. */
export class TableAnswers {
  readonly #revisionOf: () => number;
  readonly #answers: { clear(): void }[] = [];
  /** The revision at which all answers were read. */
  #revision: number;

  /** `revisionOf` changes with the rows, and when a change is rolled back. */
  constructor(revisionOf: () => number) {
    this.#revisionOf = revisionOf;
    this.#revision = revisionOf();
  }

  /** A function that returns the kept answer, or calls `ask`. */
  to<T>(ask: (argument: string) => T): (argument?: string) => T {
    const answers = new Map<string, T>();
    this.#answers.push(answers);
    return (argument = "") => {
      this.#forgetChanged();
      const known = answers.get(argument);
      if (known !== undefined || answers.has(argument)) return known as T;
      const answer = ask(argument);
      if (answers.size >= ANSWERS_MAX) answers.clear();
      answers.set(argument, answer);
      return answer;
    };
  }

  #forgetChanged(): void {
    const revision = this.#revisionOf();
    if (revision === this.#revision) return;
    this.#revision = revision;
    for (const answers of this.#answers) answers.clear();
  }
}
