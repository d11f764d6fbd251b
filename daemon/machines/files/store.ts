/** SQL of the files between machines, one statement per function. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import { MissingReason } from "./sent_files.ts";

const SentRow = z.object({
  object: z.string(),
  daemon_id: z.string(),
  attempts: z.number(),
  ready_at: z.number().nullable(),
});
type SentRow = z.output<typeof SentRow>;
const SELECT_SENT = "select object, daemon_id, attempts, ready_at from machine_files_sent";

const ReceivedRow = z.object({
  attachment: z.string().nullable(),
  reason: MissingReason.nullable(),
});
type ReceivedRow = z.output<typeof ReceivedRow>;

/** A file of a machine, as the machine that receives it knows it. */
interface ReceivedKey {
  readonly daemon_id: string;
  readonly object: string;
}

export function insertSent(
  tx: Tx,
  sent: {
    readonly object: string;
    readonly daemon_id: string;
    readonly attachment: string;
    readonly described_at: number;
    readonly expires_at: number;
  },
): void {
  tx.insert(
    `insert into machine_files_sent
       (object, daemon_id, attachment, uses, attempts, described_at, expires_at)
     values (:object, :daemon_id, :attachment, 1, 0, :described_at, :expires_at)`,
    sent,
  );
}

/** Adds a use to an upload that began at most some time ago; returns its name on the bus. */
export function reuse(
  tx: Tx,
  upload: { readonly daemon_id: string; readonly attachment: string; readonly since: number },
): string | undefined {
  return tx.returning(
    z.string(),
    `update machine_files_sent set uses = uses + 1 where object = (
       select object from machine_files_sent
       where daemon_id = :daemon_id and attachment = :attachment and described_at > :since
         and uses > 0 and reason is null
       order by described_at desc limit 1
     ) returning object`,
    upload,
  )[0];
}

export function release(tx: Tx, daemon_id: string, object: string): void {
  tx.run(
    `update machine_files_sent set uses = uses - 1
     where object = :object and daemon_id = :daemon_id and uses > 0`,
    { daemon_id, object },
  );
}

export function getSent(db: Reader, object: string): SentRow | undefined {
  return db.get(SentRow, `${SELECT_SENT} where object = :object`, { object });
}

export function countUpload(tx: Tx, object: string): void {
  const sql = "update machine_files_sent set attempts = attempts + 1 where object = :object";
  tx.run(sql, { object });
}

export function setReady(
  tx: Tx,
  ready: { readonly object: string; readonly ready_at: number; readonly reason: string | null },
): void {
  tx.run(
    `update machine_files_sent set ready_at = :ready_at, reason = :reason, attempts = 0
     where object = :object`,
    ready,
  );
}

/** Files that no entry needs. */
export function listUnused(db: Reader, limit: number): SentRow[] {
  return db.all(SentRow, `${SELECT_SENT} where uses = 0 limit :limit`, { limit });
}

export function removeSent(tx: Tx, object: string): void {
  tx.run("delete from machine_files_sent where object = :object", { object });
}

export function getReceived(db: Reader, key: ReceivedKey): ReceivedRow | undefined {
  return db.get(
    ReceivedRow,
    `select attachment, reason from machine_files_received
     where daemon_id = :daemon_id and object = :object`,
    { daemon_id: key.daemon_id, object: key.object },
  );
}

/** Counts an attempt to fetch a file; returns the number of attempts. */
export function countFetch(tx: Tx, key: ReceivedKey, expires_at: number): number {
  const [attempts = 1] = tx.returning(
    z.number(),
    `insert into machine_files_received (daemon_id, object, attempts, expires_at)
     values (:daemon_id, :object, 1, :expires_at)
     on conflict (daemon_id, object) do update set attempts = attempts + 1
     returning attempts`,
    { daemon_id: key.daemon_id, object: key.object, expires_at },
  );
  return attempts;
}

/** Stores the outcome for a file, whose attempts were counted before. */
export function setReceived(tx: Tx, key: ReceivedKey, outcome: Partial<ReceivedRow>): void {
  const { attachment = null, reason = null } = outcome;
  tx.run(
    `update machine_files_received set attachment = :attachment, reason = :reason
     where daemon_id = :daemon_id and object = :object`,
    { daemon_id: key.daemon_id, object: key.object, attachment, reason },
  );
}

const TABLES = ["machine_files_sent", "machine_files_received"] as const;

export function hasExpired(db: Reader, now: number): boolean {
  return TABLES.some((table) => {
    const sql = `select 1 from ${table} where expires_at <= :now limit 1`;
    return db.value(z.number(), sql, { now }) !== undefined;
  });
}

export function removeExpired(tx: Tx, now: number): void {
  for (const table of TABLES) tx.run(`delete from ${table} where expires_at <= :now`, { now });
}
