/**
 * The peers that may work under a budget, in memory: a message between other peers needs no query,
 * and a query would break up the inserts of a flood.
 */

import type { Reader } from "kit/data/sqlite.ts";
import * as store from "./store.ts";

/** A question to the ledger of messages, which is a higher feature. */
export interface RecipientPorts {
  /** The recipients of messages that count to a budget and have not arrived. */
  budgetedRecipients(): readonly string[];
}

export class BudgetedPeers {
  readonly #db: Reader;
  readonly #ports: RecipientPorts;
  /** All of them, and some that no longer do or whose transaction was rolled back. */
  #ids = new Set<string>();

  constructor(db: Reader, ports: RecipientPorts) {
    this.#db = db;
    this.#ports = ports;
    this.reload();
  }

  /**
   * False only if the peer works under no budget of its own, owes no answer under one, and gets no
   * message that counts to one.
   */
  has(peer_id: string): boolean {
    return this.#ids.has(peer_id);
  }

  add(peer_id: string): void {
    this.#ids.add(peer_id);
  }

  /** Leaves out the peers that no longer work under a budget. */
  reload(): void {
    this.#ids = new Set([...store.budgetedPeers(this.#db), ...this.#ports.budgetedRecipients()]);
  }
}
