/** SQL for the ids of asks that their askers chose. All other ids are made of the row's number. */

import type { Tx } from "kit/data/sqlite.ts";

/** From now on the row is found under this id as well; it goes when the row goes. */
export function choose(tx: Tx, correlation_id: string, seq: number): void {
  tx.run("insert into chosen_ids (correlation_id, seq) values (:correlation_id, :seq)", {
    correlation_id,
    seq,
  });
}
