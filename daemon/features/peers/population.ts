/** The limits on peers: how many may be live, and how many may have a record. */

import { Problem } from "kit/core/problem.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { isLive } from "./directory.ts";
import { LIVE_PEERS_MAX, PEER_RECORDS_MAX } from "./schemas.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";

/** Refuses a peer that would become live, or get a record, beyond the limits. */
export function refuseTooMany(db: Reader, before: StoredPeer | undefined): void {
  if (before && isLive(before)) return;
  const live = rows.liveCount(db);
  if (live >= LIVE_PEERS_MAX) throw new Problem("peers_full", { peers: live, kind: "live" });
  if (before && before.dropped_at === null) return;
  const records = rows.recordCount(db);
  if (records >= PEER_RECORDS_MAX) {
    throw new Problem("peers_full", { peers: records, kind: "known" });
  }
}
