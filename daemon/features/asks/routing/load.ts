/** What a choice between peers rests on: how much is asked of each, and what each answered. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";

const Load = z.object({ to_peer_id: z.string(), count: z.number() });

/** How many open asks wait for each peer; one that nothing is asked of is left out. */
export function openCountByPeer(db: Reader): Map<string, number> {
  const loads = db.all(
    Load,
    `select to_peer_id, count(*) as count from messages
     where ask_state = 'open' group by to_peer_id`,
  );
  return new Map(loads.map(({ to_peer_id, count }) => [to_peer_id, count]));
}

/** Asks that are looked back on, the last that were closed, and how much of each answer is read. */
const CLOSED_ROWS_MAX = 400;
const REPLY_CHARS_MAX = 500;

const Closed = z.object({ to_peer_id: z.string(), closed_at: z.number() });

/** When the last ask to each peer was closed, of those that are looked back on. */
export function lastClosedAtByPeer(db: Reader): Map<string, number> {
  const closed = db.all(
    Closed,
    `select to_peer_id, max(closed_at) as closed_at from (
       select to_peer_id, closed_at
       from messages where closed_at is not null order by closed_at desc limit :rows)
     group by to_peer_id`,
    { rows: CLOSED_ROWS_MAX },
  );
  return new Map(closed.map(({ to_peer_id, closed_at }) => [to_peer_id, closed_at]));
}

const Reply = z.object({ peer_id: z.string(), reply: z.string() });

/** The beginnings of what was answered to the asks that were closed last, newest first. */
export function lastReplies(db: Reader) {
  return db.all(
    Reply,
    `select peer_id, reply from (
       select to_peer_id as peer_id, substr(reply, 1, :chars) as reply, close_reason
       from messages where closed_at is not null order by closed_at desc limit :rows)
     where reply is not null and close_reason in ('ack_with_msg', 'answered')`,
    { chars: REPLY_CHARS_MAX, rows: CLOSED_ROWS_MAX },
  );
}
