/** What an operator counts: deliveries by peer and state, and how many there are of each. */

import { z } from "zod";
import type { Database } from "kit/sqlite.ts";
import type { Held } from "../contract.ts";
import { HELD, HeldRow } from "./rows.ts";

export function deliveries(
  db: Database,
  filter: { peer_id: string | null; state: string | null; limit: number },
): Held[] {
  return db.all(
    HeldRow,
    `${HELD} where (:peer_id is null or to_peer_id = :peer_id)
       and (:state is null or state = :state)
     order by seq desc limit :limit`,
    filter,
  );
}

const StateCount = z.object({ state: z.string(), count: z.number() });

/** The conservation count: how many messages are in each state. */
export function counts(db: Database): { state: string; count: number }[] {
  return db.all(StateCount, "select state, count(*) as count from messages group by state");
}
