/** SQL for scheduled messages: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Schedule } from "protocol/schedules/contract.ts";

/** A schedule as stored: the public record and internal fields. */
export const StoredSchedule = Schedule.extend({
  /** True if the text and the recipient have a proven human origin (contract 2). */
  proven_human: z.boolean(),
  /** True if the caller was not proved to be the sender (contract 11). */
  unverified: z.boolean(),
  /** True if the request named the circle. Then no other circle is searched. */
  circle_given: z.boolean(),
  traceparent: z.string().nullable(),
  settled_at: Instant.nullable(),
});
export type StoredSchedule = z.output<typeof StoredSchedule>;

const table = tableOf("schedules", StoredSchedule, "schedule_id");
export const { insert, update, get, remove } = table;

/** The first ids that begin with `short`. */
export const idsFrom = idsOf("schedules", "schedule_id");

/** Due schedules, the longest overdue first. */
export function due(db: Reader, now: number, limit: number): StoredSchedule[] {
  return table.all(
    db,
    `where state = 'active' and next_fire_at <= :now
     order by next_fire_at, seq limit :limit`,
    { now, limit },
  );
}

/** True if an active schedule is from a peer, or is to it by its id or its name. */
export function involves(
  db: Reader,
  { peer_id, name }: { readonly peer_id: string; readonly name: string },
): boolean {
  const statement = `select 1 from schedules where state = 'active'
    and (from_peer_id = :peer_id or to_peer in (:peer_id, :name)) limit 1`;
  return db.value(z.number(), statement, { peer_id, name }) !== undefined;
}

export function activeCount(db: Reader): number {
  return db.value(z.number(), "select count(*) from schedules where state = 'active'") ?? 0;
}

/** A peer in a filter: the argument as given, and the peer that it resolves to. */
export interface PeerMatch {
  readonly argument: string;
  readonly peer_id: string;
  readonly name: string;
}

export interface Filter {
  readonly state: string | null;
  readonly from: PeerMatch | null;
  readonly to: PeerMatch | null;
  readonly circle: string | null;
  readonly limit: number;
}

export function list(db: Reader, { state, from, to, circle, limit }: Filter): StoredSchedule[] {
  return table.all(
    db,
    `where (:state is null or state = :state)
       and (:circle is null or circle = :circle)
       and (:from is null or from_peer_id = :from_id or from_peer in (:from, :from_id, :from_name))
       and (:to is null or to_peer in (:to, :to_id, :to_name))
     order by state <> 'active', coalesce(next_fire_at, -settled_at), seq limit :limit`,
    {
      state,
      circle,
      limit,
      from: from?.argument ?? null,
      to: to?.argument ?? null,
      from_id: from?.peer_id ?? null,
      from_name: from?.name ?? null,
      to_id: to?.peer_id ?? null,
      to_name: to?.name ?? null,
    },
  );
}

/** Schedules that settled before an instant, oldest first. */
export function settledBefore(db: Reader, before: number, limit: number): string[] {
  return db.values(
    z.string(),
    `select schedule_id from schedules where settled_at < :before order by settled_at limit :limit`,
    { before, limit },
  );
}
