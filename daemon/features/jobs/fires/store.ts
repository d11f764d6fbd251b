/** SQL for attempts: each function is one statement and takes no decision. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Attempt } from "../record.ts";

/** An attempt as stored: the record, its job's id, and whether its executor must be ended. */
export const StoredAttempt = Attempt.extend({
  job_id: z.string(),
  /**
   * `due` if the executor was started for this attempt and must be ended, `done` once it has ended.
   * Null for any other executor.
   */
  release: z.enum(["due", "done"]).nullable(),
});
export type StoredAttempt = z.output<typeof StoredAttempt>;

const Row = rowOf(StoredAttempt);
const columns = Object.keys(StoredAttempt.shape);
const INSERT = `insert into job_attempts (${columns.join(", ")})
  values (${columns.map((column) => `:${column}`).join(", ")})`;
const IMMUTABLE_COLUMNS = ["attempt_id", "number", "job_id", "started_at"];
const UPDATE = `update job_attempts set ${
  columns.filter((column) => !IMMUTABLE_COLUMNS.includes(column)).map((column) =>
    `${column} = :${column}`
  )
    .join(", ")
} where attempt_id = :attempt_id`;

export function insert(tx: Tx, attempt: StoredAttempt): void {
  tx.run(INSERT, z.encode(Row, attempt));
}

export function update(tx: Tx, attempt: StoredAttempt): void {
  tx.run(UPDATE, z.encode(Row, attempt));
}

export function get(db: Reader, attempt_id: string): StoredAttempt | undefined {
  return db.get(Row, "select * from job_attempts where attempt_id = :attempt_id", { attempt_id });
}

/** The attempts of a job, newest first. */
export function ofJob(db: Reader, job_id: string, limit: number): StoredAttempt[] {
  return db.all(
    Row,
    "select * from job_attempts where job_id = :job_id order by number desc limit :limit",
    { job_id, limit },
  );
}

/** Attempts in progress. */
export function open(db: Reader): StoredAttempt[] {
  return db.all(Row, "select * from job_attempts where ended_at is null order by seq");
}

export function openOf(db: Reader, executor_peer_id: string): StoredAttempt[] {
  return db.all(
    Row,
    `select * from job_attempts
     where ended_at is null and executor_peer_id = :executor_peer_id order by seq`,
    { executor_peer_id },
  );
}

export function byDelivery(db: Reader, delivery_id: string): StoredAttempt | undefined {
  return db.get(
    Row,
    "select * from job_attempts where ended_at is null and delivery_id = :delivery_id",
    { delivery_id },
  );
}

export function bySpawn(db: Reader, spawn_id: string): StoredAttempt | undefined {
  return db.get(
    Row,
    "select * from job_attempts where ended_at is null and spawn_id = :spawn_id",
    { spawn_id },
  );
}

/** Attempts whose executors have to be ended. */
export function releasing(db: Reader): StoredAttempt[] {
  return db.all(Row, "select * from job_attempts where release = 'due' order by seq");
}

const Count = z.object({ count: z.number() });

/** How many agents that were started for a fire still run. */
export function ownExecutors(db: Reader): number {
  const found = db.get(
    Count,
    `select (select count(*) from job_attempts
             where ended_at is null and executor in ('spawned', 'resumed'))
          + (select count(*) from job_attempts where release = 'due') as count`,
  );
  return found?.count ?? 0;
}

/**
 * The last attempt that had an executor, among those of a job and of the other jobs of its
 * template.
 */
export function lastWorked(
  db: Reader,
  { job_id, source_id }: { job_id: string; source_id: string | null },
): StoredAttempt | undefined {
  return db.get(
    Row,
    `select * from job_attempts
     where executor_peer_id is not null and job_id in (
       select job_id from jobs
       where job_id = :job_id or (:source_id is not null and source_id = :source_id))
     order by seq desc limit 1`,
    { job_id, source_id },
  );
}
