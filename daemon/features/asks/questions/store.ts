/** SQL of asks whose caller waits on an open connection, one statement per function. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";

export function insertWait(tx: Tx, correlation_id: string): void {
  tx.run("insert into held_asks (correlation_id) values (:correlation_id)", { correlation_id });
}

export function removeWait(tx: Tx, correlation_id: string): void {
  tx.run("delete from held_asks where correlation_id = :correlation_id", { correlation_id });
}

export function waitingIds(db: Reader): string[] {
  return db.values(z.string(), "select correlation_id from held_asks order by correlation_id");
}
