/** SQL of the digest: what happened in a period. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf } from "kit/data/sqlite.ts";

/** The period includes both ends; a circle of null is any. */
export interface Period {
  readonly since: number;
  readonly until: number;
  readonly circle: string | null;
}

/** Maximum characters of a text that are read. */
const CHARS = 1_000;

const ClosedAsk = z.object({
  correlation_id: z.string(),
  from_peer_name: z.string(),
  to_peer_name: z.string(),
  circle: z.string().nullable(),
  question: z.string(),
  outcome: z.string(),
  answer: z.string().nullable(),
  responder: z.string().nullable(),
  closed_at: Instant,
  /** True if it was put to the human. */
  is_decision: z.boolean(),
});
export type ClosedAsk = z.output<typeof ClosedAsk>;
const ClosedAskRow = rowOf(ClosedAsk);

/** Ends of asks that are neither a decision nor an answer. */
const UNANSWERED = "('cancelled', 'failed', 'timed_out')";

/** The asks that were closed in a period by an answer, newest first. */
export function closedAsks(db: Reader, params: Period & { limit: number }): ClosedAsk[] {
  return db.all(
    ClosedAskRow,
    `select correlation_id, from_peer_name, to_peer_name, circle,
       substr(text, 1, ${CHARS}) as question, outcome,
       substr(coalesce(nullif(reply, ''), answer ->> 'text', answer ->> 'option_id'), 1, ${CHARS})
         as answer,
       responder, closed_at,
       to_peer_id in (select peer_id from peers where role = 'human') as is_decision
     from messages indexed by messages_closed
     where closed_at >= :since and closed_at <= :until and kind = 'ask'
       and (:circle is null or circle = :circle) and outcome not in ${UNANSWERED}
     order by closed_at desc, seq desc limit :limit`,
    { ...params },
  );
}

const LoggedEvent = z.object({ type: z.string(), at: z.number(), data: z.string() });

/** The newest events of these types in a period, among the events after the id `after`. */
export function eventsOf(
  db: Reader,
  { types, ...params }: {
    types: readonly string[];
    since: number;
    until: number;
    after: number;
    limit: number;
  },
): z.output<typeof LoggedEvent>[] {
  return db.all(
    LoggedEvent,
    `select type, at, data from events
     where id > :after and at >= :since and at <= :until
       and type in (select value from json_each(:types))
     order by id desc limit :limit`,
    { ...params, types: JSON.stringify(types) },
  );
}
