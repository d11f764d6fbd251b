/** A map in memory: a rollback of the database takes back what its transaction changed there. */

import type { Database } from "kit/data/sqlite.ts";

type Transactions = Pick<Database, "afterRollback" | "isWithinTransaction">;

/**
 * Changes outside of a transaction stay. Values must not be changed in place, because a rollback
 * brings back the value of before.
 */
export class RollbackMap<K, V> extends Map<K, V> {
  readonly #db: Transactions;

  constructor(db: Transactions) {
    super();
    this.#db = db;
  }

  override set(key: K, value: V): this {
    this.#restoreAfterRollback(key);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    this.#restoreAfterRollback(key);
    return super.delete(key);
  }

  #restoreAfterRollback(key: K): void {
    if (!this.#db.isWithinTransaction) return;
    const before = this.has(key) ? { value: this.get(key) as V } : undefined;
    this.#db.afterRollback(() => {
      if (before) super.set(key, before.value);
      else super.delete(key);
    });
  }
}
