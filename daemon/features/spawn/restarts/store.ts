/** SQL for restarts: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { LastSeq, LogEntry, type LogPage } from "../log/entry.ts";
import { restartMachine } from "../machine.ts";
import { Restart, RestartStage } from "../../peers/schemas.ts";

const nullableString = z.string().nullable();
const nullableInteger = z.number().int().nullable();

/** A restart as stored: its result, and what the next start needs to resolve it. */
export const StoredRestart = z.object({
  restart_id: z.string(),
  peer_id: z.string(),
  state: z.enum(restartMachine.states),
  resume_mode: Restart.shape.resume_mode,
  would_run: Restart.shape.would_run,
  failed: z.object({ stage: RestartStage, reason: z.string(), detail: z.string() }).nullable(),
  stages: Restart.shape.stages,
  tmux_socket: nullableString,
  pane_id: nullableString,
  /** The replaced process and the new process. */
  old_pid: nullableInteger,
  old_started: nullableString,
  new_pid: nullableInteger,
  new_started: nullableString,
  /** The message that waits for the restarted peer; null once it was sent or dropped. */
  seed: nullableString,
  seed_from: nullableString,
  seed_human: z.boolean(),
  started_at: Instant,
  finished_at: Instant.nullable(),
});
export type StoredRestart = z.output<typeof StoredRestart>;

const Row = rowOf(StoredRestart);
const columns = Object.keys(StoredRestart.shape);
const IMMUTABLE_COLUMNS = ["restart_id", "peer_id", "resume_mode", "would_run", "started_at"];
const mutableColumns = columns.filter((column) => !IMMUTABLE_COLUMNS.includes(column));

export function insert(tx: Tx, restart: StoredRestart): void {
  tx.run(
    `insert into restarts (${columns.join(", ")})
     values (${columns.map((column) => `:${column}`).join(", ")})`,
    z.encode(Row, restart),
  );
}

export function update(tx: Tx, restart: StoredRestart): void {
  tx.run(
    `update restarts set ${mutableColumns.map((column) => `${column} = :${column}`).join(", ")}
     where restart_id = :restart_id`,
    z.encode(Row, restart),
  );
}

export function get(db: Reader, restart_id: string): StoredRestart | undefined {
  return db.get(Row, "select * from restarts where restart_id = :restart_id", { restart_id });
}

/** The latest restart of a peer. */
export function latest(db: Reader, peer_id: string): StoredRestart | undefined {
  return db.get(
    Row,
    "select * from restarts where peer_id = :peer_id order by seq desc limit 1",
    { peer_id },
  );
}

/** Restarts in progress. */
export function open(db: Reader): StoredRestart[] {
  return db.all(Row, "select * from restarts where finished_at is null order by seq");
}

export function after(db: Reader, page: LogPage): LogEntry[] {
  return db.all(
    LogEntry,
    `select seq, peer_id, finished_at as over_at, not exists
       (select 1 from restarts as newer where newer.peer_id = old.peer_id and newer.seq > old.seq)
       as latest
     from restarts as old where seq > :after order by seq limit :limit`,
    page,
  );
}

export function last(db: Reader): number {
  return db.get(LastSeq, "select max(seq) as seq from restarts")?.seq ?? 0;
}

export function forget(tx: Tx, seq: number): void {
  tx.run("delete from restarts where seq = :seq", { seq });
}
