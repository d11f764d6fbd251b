/** SQL of the parents of asks to many, one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { idsStarting } from "../../../data/short_ids.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { ChildAsk } from "protocol/asks/many.ts";

const ParentAsk = z.object({
  parent_id: z.string(),
  children: z.array(ChildAsk),
  created_at: Instant,
  /** The time at which open children are closed; null without a timeout, or after it. */
  due_at: Instant.nullable(),
});
type ParentAsk = z.output<typeof ParentAsk>;

const table = tableOf("ask_parents", ParentAsk, "parent_id");
export const { insert, get, remove } = table;

/** The first ids that begin with `short`. */
export const idsFrom = (db: Reader, short: string): string[] =>
  idsStarting(db, { table: "ask_parents", column: "parent_id" }, short);

const Timeout = z.object({ parent_id: z.string(), created_at: z.number(), due_at: z.number() });

/** Timeouts that are not handled yet. */
export function timeouts(db: Reader): z.output<typeof Timeout>[] {
  const columns = "parent_id, created_at, due_at";
  return db.all(Timeout, `select ${columns} from ask_parents where due_at is not null`);
}

/** Of the `limit` oldest parents, those created before `before` that have no open ask. */
export function finishedBefore(db: Reader, before: number, limit: number): ParentAsk[] {
  return table.all(
    db,
    `where seq in (select seq from ask_parents order by seq limit :limit)
       and created_at < :before and not exists (
         select 1 from messages
         where ask_state = 'open' and messages.parent_id = ask_parents.parent_id)`,
    { before, limit },
  );
}

/** Clears the timeout once the open children are closed. */
export function clearDue(tx: Tx, parent_id: string): void {
  tx.run("update ask_parents set due_at = null where parent_id = :parent_id", { parent_id });
}
