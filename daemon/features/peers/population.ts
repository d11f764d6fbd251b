/** The limits on peers: how many may be live, and how many may have a record. */

import { Problem } from "kit/core/problem.ts";
import type { Database } from "kit/data/sqlite.ts";
import { isLive } from "./directory.ts";
import { LIVE_PEERS_MAX, PEER_RECORDS_MAX } from "./schemas.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

export class Population {
  readonly #db: Database;
  /** How many peers may come before the records are counted again, which takes long. */
  #freeRecords = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Refuses a peer that would become live, or get a record, beyond the limits. */
  mustAdmit(before: StoredPeer | undefined): void {
    if (before && isLive(before)) return;
    const live = rows.liveCount(this.#db);
    if (live >= LIVE_PEERS_MAX) throw new Problem("peers_full", { peers: live, kind: "live" });
    if (before && before.dropped_at === null) return;
    if (this.#freeRecords === 0) this.#countRecords();
    this.#freeRecords--;
  }

  #countRecords(): void {
    const records = rows.recordCount(this.#db);
    if (records >= PEER_RECORDS_MAX) {
      throw new Problem("peers_full", { peers: records, kind: "known" });
    }
    this.#freeRecords = PEER_RECORDS_MAX - records;
  }
}
