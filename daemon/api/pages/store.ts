/** SQL for browsers with a page cookie. Each function is one statement. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";

export function insert(
  tx: Tx,
  session: { digest: string; human: number; created_at: number; expires_at: number },
): void {
  tx.run(
    `insert into page_sessions (digest, human, created_at, expires_at)
     values (:digest, :human, :created_at, :expires_at)`,
    session,
  );
}

/** 1 if a page speaks as the human, 0 if not; undefined if it is unknown or has expired. */
export function find(db: Reader, digest: string, now: number): number | undefined {
  return db.value(
    z.number(),
    "select human from page_sessions where digest = :digest and expires_at > :now",
    { digest, now },
  );
}

export function remove(tx: Tx, digest: string): void {
  tx.run("delete from page_sessions where digest = :digest", { digest });
}

/** Removes expired sessions, then the oldest above the limit, people's sessions last. */
export function trim(tx: Tx, now: number, kept: number): void {
  tx.run(
    `delete from page_sessions where expires_at <= :now or digest not in (
       select digest from page_sessions where expires_at > :now
       order by human desc, created_at desc, digest limit :kept
     )`,
    { now, kept },
  );
}
