/** SQL of asks whose caller waits on an open connection, one statement per function. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";

export function insertWait(tx: Tx, correlation_id: string, at_terminal: boolean): void {
  tx.run(
    "insert into held_asks (correlation_id, at_terminal) values (:correlation_id, :at_terminal)",
    { correlation_id, at_terminal: at_terminal ? 1 : 0 },
  );
}

/** True if the agent's own dialog asks the same. It stays open after the last caller has left. */
export function isAtTerminal(db: Reader, correlation_id: string): boolean {
  return db.value(
    z.number(),
    "select at_terminal from held_asks where correlation_id = :correlation_id",
    { correlation_id },
  ) === 1;
}

export function removeWait(tx: Tx, correlation_id: string): void {
  tx.run("delete from held_asks where correlation_id = :correlation_id", { correlation_id });
}

export function waitingIds(db: Reader): string[] {
  return db.values(z.string(), "select correlation_id from held_asks order by correlation_id");
}
