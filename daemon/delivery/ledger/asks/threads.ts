/** SQL that reads asks as threads: those of a peer that are closed, those that wait for each. */

import * as z from "zod";
import { type Reader, rowOf } from "kit/sqlite.ts";
import { Thread } from "../../../asks/contract.ts";

const ThreadRow = rowOf(Thread);

/** `closed_at` after `since`, oldest first. At the limit, all of the last instant come along. */
export function threads(
  db: Reader,
  of: { peer_id: string; since: number; limit: number },
): Thread[] {
  return db.all(
    ThreadRow,
    `with thread as (
       select seq, correlation_id, created_at as opened_at, closed_at, close_reason,
         iif(to_peer_id = :peer_id, 'recipient', 'asker') as role,
         iif(to_peer_id = :peer_id, from_peer_name, to_peer_name) as other,
         iif(to_peer_id = :peer_id, from_peer_id, to_peer_id) as other_peer_id
       from messages
       where closed_at > :since and kind = 'ask'
         and (from_peer_id = :peer_id or to_peer_id = :peer_id))
     select correlation_id, role, other, other_peer_id, close_reason, opened_at, closed_at
     from thread
     where closed_at <= coalesce(
       (select closed_at from thread order by closed_at limit 1 offset :limit - 1),
       9223372036854775807)
     order by closed_at, seq`,
    of,
  );
}

const Pending = z.object({
  to_peer_id: z.string(),
  count: z.number(),
  oldest: z.number().nullable(),
});

/** How many open asks each peer has, and since when: one pass over the open ones for all. */
export function pendingOfAll(db: Reader): z.output<typeof Pending>[] {
  return db.all(
    Pending,
    `select to_peer_id, count(*) as count, min(created_at) as oldest from messages
     where ask_state = 'open' group by to_peer_id`,
  );
}
