/** SQL for scheduled messages: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Schedule } from "./contract.ts";

/** A schedule as stored: the public record and internal fields. */
export const StoredSchedule = Schedule.extend({
  /** Whether the text and the recipient have a proven human origin (contract 2). */
  proven_human: z.boolean(),
  traceparent: z.string().nullable(),
  settled_at: Instant.nullable(),
});
export type StoredSchedule = z.output<typeof StoredSchedule>;

const Row = rowOf(StoredSchedule);
const columns = Object.keys(StoredSchedule.shape);
const IMMUTABLE_COLUMNS = [
  "schedule_id",
  "from_peer",
  "from_peer_id",
  "from_peer_name",
  "circle",
  "traceparent",
  "created_at",
];
const mutableColumns = columns.filter((column) => !IMMUTABLE_COLUMNS.includes(column));

export function insert(tx: Tx, schedule: StoredSchedule): void {
  tx.run(
    `insert into schedules (${columns.join(", ")})
     values (${columns.map((column) => `:${column}`).join(", ")})`,
    z.encode(Row, schedule),
  );
}

export function update(tx: Tx, schedule: StoredSchedule): void {
  tx.run(
    `update schedules set ${mutableColumns.map((column) => `${column} = :${column}`).join(", ")}
     where schedule_id = :schedule_id`,
    z.encode(Row, schedule),
  );
}

export function get(db: Reader, schedule_id: string): StoredSchedule | undefined {
  return db.get(Row, "select * from schedules where schedule_id = :schedule_id", { schedule_id });
}

/** Due schedules, the longest overdue first. */
export function due(db: Reader, now: number, limit: number): StoredSchedule[] {
  return db.all(
    Row,
    `select * from schedules where state = 'active' and next_fire_at <= :now
     order by next_fire_at, seq limit :limit`,
    { now, limit },
  );
}

const Count = z.object({ count: z.number() });

export function activeCount(db: Reader): number {
  return db.get(Count, "select count(*) as count from schedules where state = 'active'")?.count ??
    0;
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
  return db.all(
    Row,
    `select * from schedules
     where (:state is null or state = :state)
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

const Id = z.object({ schedule_id: z.string() });

/** Schedules that settled before an instant, oldest first. */
export function settledBefore(db: Reader, before: number, limit: number): string[] {
  return db.all(
    Id,
    `select schedule_id from schedules where settled_at < :before order by settled_at limit :limit`,
    { before, limit },
  ).map(({ schedule_id }) => schedule_id);
}

export function remove(tx: Tx, schedule_id: string): void {
  tx.run("delete from schedules where schedule_id = :schedule_id", { schedule_id });
}
