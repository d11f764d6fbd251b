/** Creates thousands of peers fast, as copies of one record; registrations would take too long. */

import * as z from "zod";
import type { Database } from "kit/data/sqlite.ts";

/** Copies the row of a peer. `changes` has SQL for columns; `i` counts the copies from 1. */
export function copyPeer(
  db: Database,
  peer_id: string,
  copies: number,
  changes: Readonly<Record<string, string>> = {},
): void {
  const all = { peer_id: "peer_id || '-' || i", ...changes };
  const columns = db.values(z.string(), "select name from pragma_table_info('peers')");
  const values = columns.map((column) => all[column as keyof typeof all] ?? column);
  db.transact((tx) => {
    tx.run(
      `with recursive copy (i) as (select 1 union all select i + 1 from copy where i < :copies)
       insert into peers (${columns.join(", ")})
       select ${values.join(", ")} from peers, copy where peer_id = :peer_id`,
      { peer_id, copies },
    );
  });
}
