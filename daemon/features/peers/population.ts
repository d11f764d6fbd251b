/** The limits on the number of live peers, and of peers with a record. */

import { Problem } from "protocol/problems.ts";
import type { Database } from "kit/data/sqlite.ts";
import { isLive } from "./directory.ts";
import { LIVE_PEERS_MAX, PEER_RECORDS_MAX } from "protocol/peers/record.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

export class Population {
  readonly #db: Database;
  /** Number of peers that are admitted before the records are counted again, which is slow. */
  #freeRecords = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Throws `peers_full` if this peer would exceed the limit of live peers or of records. */
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
