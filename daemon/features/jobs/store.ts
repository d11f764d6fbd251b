/** SQL for jobs: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { Job } from "protocol/jobs/record.ts";

/** A job as stored: the record without its attempts, and internal fields. */
export const StoredJob = Job.omit({ work_id: true, runner: true }).extend({
  attempt_count: z.number().int(),
  current_attempt_id: z.string().nullable(),
  lease_until: Instant.nullable(),
  /** Time of a queued job's next attempt; null while it waits for its executor. */
  look_at: Instant.nullable(),
  /** True if the request came from a proven human origin (contract 2). */
  proven_human: z.boolean(),
  /** True if the caller was not proved to be the sender (contract 11). */
  unverified: z.boolean(),
  deadline_told: z.boolean(),
});
export type StoredJob = z.output<typeof StoredJob>;

const table = tableOf("jobs", StoredJob, "job_id");
export const { insert, update, get } = table;

/** The first ids that begin with `short`. */
export const idsFrom = idsOf("jobs", "job_id");

/** The unsettled states, listed so that SQLite reads their index and skips settled jobs. */
const UNSETTLED =
  "state in ('queued', 'dispatching', 'delivered', 'running', 'awaiting_input', 'blocked')";

export interface Filter {
  readonly state: string | null;
  readonly owner_peer_id: string | null;
  readonly circle: string | null;
  /** Maximum rows; if null, all unsettled ones and the newest `settled_max` settled ones. */
  readonly limit: number | null;
  readonly settled_max: number;
}

/** The query of a list: the newest rows that match, within the limits of `Filter`. */
export function newestSql(table: "jobs" | "job_templates", settledCondition: string): string {
  return `with matching as (
      select seq, (${settledCondition}) as is_over from ${table}
      where (:state is null or state = :state) and (:circle is null or circle = :circle)
        and (:owner_peer_id is null or owner_peer_id = :owner_peer_id))
    select * from ${table} where seq in (
        select seq from matching where :limit is null and not is_over)
      or seq in (
        select seq from matching where :limit is not null or is_over
        order by seq desc limit coalesce(:limit, :settled_max))
    order by seq desc`;
}

const LIST = newestSql("jobs", "settled_at is not null");

/** The jobs that match, newest first. */
export function list(db: Reader, filter: Filter): StoredJob[] {
  return db.all(table.row, LIST, { ...filter });
}

const INVOLVES = ":peer_id in (assigned_peer_id, owner_peer_id, created_by_peer_id)";

/** True if a peer is the executor, owner or creator of an unsettled job. */
export function involves(db: Reader, peer_id: string): boolean {
  const statement = `select 1 from jobs where ${UNSETTLED} and ${INVOLVES} limit 1`;
  return db.value(z.number(), statement, { peer_id }) !== undefined;
}

/** Maximum jobs of a peer that a briefing reads. */
const BRIEFED_MAX = 20;
const EXECUTES = `(assigned_peer_id is :peer_id or job_id in
  (select job_id from job_attempts where executor_peer_id = :peer_id and ended_at is null))`;

/** The unfinished jobs that a peer executes, owns or has created, in this order. */
export function unfinishedOf(db: Reader, peer_id: string): StoredJob[] {
  const rest = `where ${UNSETTLED} and (${INVOLVES} or ${EXECUTES})
    order by ${EXECUTES} desc, seq limit ${BRIEFED_MAX}`;
  return table.all(db, rest, { peer_id });
}

/** The jobs of a peer that have ended since then, newest first. */
export function endedOf(db: Reader, params: { peer_id: string; since: number }): StoredJob[] {
  const rest = `where settled_at > :since and ${INVOLVES}
    order by settled_at desc limit ${BRIEFED_MAX}`;
  return table.all(db, rest, params);
}

/** The jobs that have ended in a period, newest first; a circle of null is any. */
export function endedIn(
  db: Reader,
  params: { since: number; until: number; circle: string | null; limit: number },
): StoredJob[] {
  const rest = `where settled_at >= :since and settled_at <= :until
    and (:circle is null or circle = :circle) order by settled_at desc, seq desc limit :limit`;
  return table.all(db, rest, params);
}

/** Queued jobs that are due. */
export function due(db: Reader, now: number, limit: number): StoredJob[] {
  return table.all(
    db,
    `where state = 'queued' and look_at <= :now
     order by look_at, seq limit :limit`,
    { now, limit },
  );
}

/** Makes the queued jobs due that wait for this peer to come online. */
export function wake(tx: Tx, assigned_peer_id: string, at: number): number {
  return tx.run(
    `update jobs set look_at = :at
     where state = 'queued' and look_at is null and assigned_peer_id = :assigned_peer_id`,
    { assigned_peer_id, at },
  );
}

/** Makes queued jobs due that were postponed before the clock was set back. */
export function endPostponements(tx: Tx, now: number): void {
  tx.run(
    `update jobs set look_at = :now
     where state = 'queued' and look_at > :now and (due_at is null or due_at <= :now)`,
    { now },
  );
}

/** Makes every queued job due that waits for its executor to come online. */
export function wakeAll(tx: Tx, at: number): void {
  tx.run("update jobs set look_at = :at where state = 'queued' and look_at is null", { at });
}

/** Undelivered jobs past their `expires_at`. */
export function expired(db: Reader, now: number, limit: number): StoredJob[] {
  return table.all(
    db,
    `where state in ('queued', 'dispatching') and expires_at <= :now
     order by expires_at limit :limit`,
    { now, limit },
  );
}

const Lease = z.object({ job_id: z.string(), lease_until: z.number() });

/** The leases of jobs that are being dispatched. */
export function leases(db: Reader): z.output<typeof Lease>[] {
  return db.all(
    Lease,
    "select job_id, lease_until from jobs where state = 'dispatching' and lease_until is not null",
  );
}

/** Unsettled jobs whose deadline has passed and for which no peer was notified yet. */
export function pastDeadline(db: Reader, now: number, limit: number): StoredJob[] {
  return table.all(
    db,
    `where deadline_told = 0 and deadline_at <= :now
       and ${UNSETTLED}
     order by deadline_at limit :limit`,
    { now, limit },
  );
}

/** Jobs whose checks run, or were running when the daemon ended. */
export function inChecks(db: Reader): StoredJob[] {
  return table.all(
    db,
    `where phase = 'checking'
       and state in ('dispatching', 'delivered', 'running', 'awaiting_input', 'blocked')`,
  );
}

/** Deletes the oldest jobs that settled before `before`, together with their attempts. */
export function removeSettled(tx: Tx, before: number, limit: number): number {
  return tx.run(
    `delete from jobs where seq in (
       select seq from jobs where settled_at < :before order by settled_at limit :limit)`,
    { before, limit },
  );
}

const Count = z.object({ state: z.string(), count: z.number() });

export function counts(db: Reader) {
  return db.all(Count, "select state, count(*) as count from jobs group by state");
}

/** True if a queued job waits for this peer to come online. */
export function hasWaitingJob(db: Reader, assigned_peer_id: string): boolean {
  return db.value(
    z.number(),
    `select 1 from jobs
     where state = 'queued' and look_at is null and assigned_peer_id = :assigned_peer_id limit 1`,
    { assigned_peer_id },
  ) !== undefined;
}

export function hasSettledBefore(db: Reader, before: number): boolean {
  const sql = "select 1 from jobs where settled_at < :before limit 1";
  return db.value(z.number(), sql, { before }) !== undefined;
}
