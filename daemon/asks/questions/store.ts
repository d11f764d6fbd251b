/** SQL for asks that a caller holds a connection for. One function a statement. */

import * as z from "zod";
import type { Database } from "kit/sqlite.ts";

const Row = z.object({ correlation_id: z.string() });

export function hold(db: Database, correlation_id: string): void {
  db.run("insert into held_asks (correlation_id) values (:correlation_id)", { correlation_id });
}

export function letGo(db: Database, correlation_id: string): void {
  db.run("delete from held_asks where correlation_id = :correlation_id", { correlation_id });
}

export function held(db: Database): string[] {
  return db.all(Row, "select correlation_id from held_asks order by correlation_id")
    .map(({ correlation_id }) => correlation_id);
}
