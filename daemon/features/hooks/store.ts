/** SQL of the table `briefings`, and of the answers that a peer has had. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";

/** A peer whose agent has lost what it knew. The row is deleted once the agent was told. */
const Briefing = z.object({
  peer_id: z.string(),
  cause: z.string(),
  /** Time at which a hook gave the briefing; null while it waits for a hook. */
  given_at: Instant.nullable(),
  /** True if a prompt has followed, so that the next event shows how its request ended. */
  requested: z.boolean(),
  /** The asks that the briefing names. */
  ask_ids: z.array(z.string()),
});
export type Briefing = z.output<typeof Briefing>;

export const { insert, update, get, remove } = tableOf("briefings", Briefing, "peer_id");

/** Replaces the briefing of a peer. */
export function replace(tx: Tx, briefing: Briefing): void {
  remove(tx, briefing.peer_id);
  insert(tx, briefing);
}

/** The open asks to a peer that wait in its queue. */
export function queuedAsks(db: Reader, peer_id: string): string[] {
  return db.values(
    z.string(),
    `select correlation_id from messages
     where to_peer_id = :peer_id and state = 'queued' and ask_state = 'open'`,
    { peer_id },
  );
}

const HadAnswer = z.object({
  correlation_id: z.string(),
  name: z.string(),
  text: z.string(),
  at: z.number(),
});
export type HadAnswer = z.output<typeof HadAnswer>;

/**
 * The latest answers that a peer has read, among the `scanned_max` newest messages: no index finds
 * them.
 */
export function answersHad(
  db: Reader,
  params: { peer_id: string; since: number; scanned_max: number; limit: number },
): HadAnswer[] {
  return db.all(
    HadAnswer,
    `select correlation_id, iif(kind = 'ask', to_peer_name, from_peer_name) as name,
       substr(iif(kind = 'ask', coalesce(reply, ''), text), 1, 1000) as text,
       coalesce(closed_at, created_at) as at
     from (select * from messages order by seq desc limit :scanned_max)
     where created_at > :since and correlation_id is not null and case kind
       when 'ack' then to_peer_id = :peer_id and seen_at is not null
       when 'ask' then from_peer_id = :peer_id and ask_state = 'closed' and reply_delivery = 'pull'
       else 0 end
     order by seq desc limit :limit`,
    params,
  );
}
