/**
 * The peers that may work under a budget, in memory: a message between other peers needs no query,
 * and a query would break up the inserts of a flood.
 */

import type { Reader } from "kit/data/sqlite.ts";
import * as store from "./store.ts";

export class BudgetedPeers {
  /** All of them, and some that no longer do or whose transaction was rolled back. */
  #ids: Set<string>;

  constructor(db: Reader) {
    this.#ids = new Set(store.budgetedPeers(db));
  }

  /** False only if the peer works under no budget of its own and owes no answer under one. */
  has(peer_id: string): boolean {
    return this.#ids.has(peer_id);
  }

  add(peer_id: string): void {
    this.#ids.add(peer_id);
  }

  /** Leaves out the peers that no longer work under a budget. */
  reload(db: Reader): void {
    this.#ids = new Set(store.budgetedPeers(db));
  }
}
