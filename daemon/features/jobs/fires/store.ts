/** SQL for attempts: each function is one statement and takes no decision. */

import * as z from "zod";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Attempt } from "protocol/jobs/record.ts";

/** An attempt as stored: the record, its job's id, and whether its executor must be ended. */
export const StoredAttempt = Attempt.extend({
  job_id: z.string(),
  /** `due` if its executor was started for it and must end, `done` after that; else null. */
  release: z.enum(["due", "done"]).nullable(),
});
export type StoredAttempt = z.output<typeof StoredAttempt>;

const table = tableOf("job_attempts", StoredAttempt, "attempt_id");
export const { insert, update, get } = table;

/** The attempts of a job, newest first. */
export function ofJob(db: Reader, job_id: string, limit: number): StoredAttempt[] {
  return table.all(db, "where job_id = :job_id order by number desc limit :limit", {
    job_id,
    limit,
  });
}

const OPEN = "where ended_at is null";

/** Attempts in progress. Without the hint, SQLite would scan all attempts. */
export function open(db: Reader): StoredAttempt[] {
  return table.all(db, `indexed by job_attempts_open ${OPEN} order by seq`);
}

export function openOf(db: Reader, executor_peer_id: string): StoredAttempt[] {
  return table.all(db, `${OPEN} and executor_peer_id = :executor_peer_id order by seq`, {
    executor_peer_id,
  });
}

export function byDelivery(db: Reader, delivery_id: string): StoredAttempt | undefined {
  return table.all(db, `${OPEN} and delivery_id = :delivery_id`, { delivery_id })[0];
}

/** The job whose prompt a message was, also after the attempt has ended. */
export function jobOfMessage(db: Reader, delivery_id: string): string | undefined {
  const statement = "select job_id from job_attempts where delivery_id = :delivery_id";
  return db.value(z.string(), statement, { delivery_id });
}

export function bySpawn(db: Reader, spawn_id: string): StoredAttempt | undefined {
  return table.all(db, `${OPEN} and spawn_id = :spawn_id`, { spawn_id })[0];
}

/** Attempts whose executors have to be ended. */
export function releasing(db: Reader): StoredAttempt[] {
  return table.all(db, "where release = 'due' order by seq");
}

/** Number of running agents that were started for fires. */
export function ownExecutors(db: Reader): number {
  return db.value(
    z.number(),
    `select (select count(*) from job_attempts
             where ended_at is null and executor in ('spawned', 'resumed'))
          + (select count(*) from job_attempts where release = 'due')`,
  ) ?? 0;
}

/** The last attempt with an executor, of a job and of the other jobs of its template. */
export function lastWorked(
  db: Reader,
  { job_id, source_id }: { job_id: string; source_id: string | null },
): StoredAttempt | undefined {
  return table.all(
    db,
    `where executor_peer_id is not null and job_id in (
       select job_id from jobs
       where job_id = :job_id or (:source_id is not null and source_id = :source_id))
     order by seq desc limit 1`,
    { job_id, source_id },
  )[0];
}
