/** SQL of the parents of asks to many, one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { ChildAsk } from "./contract.ts";

const ParentAsk = z.object({
  parent_id: z.string(),
  children: z.array(ChildAsk),
  created_at: Instant,
  /**
   * When the children that are still open are closed; null without a timeout, or when that is done.
   */
  due_at: Instant.nullable(),
});
export type ParentAsk = z.output<typeof ParentAsk>;

const Row = rowOf(ParentAsk);
const PARENT = "select parent_id, children, created_at, due_at from ask_parents";

export function insert(tx: Tx, parent: ParentAsk): void {
  tx.run(
    `insert into ask_parents (parent_id, children, created_at, due_at)
     values (:parent_id, :children, :created_at, :due_at)`,
    z.encode(Row, parent),
  );
}

export function get(db: Reader, parent_id: string): ParentAsk | undefined {
  return db.get(Row, `${PARENT} where parent_id = :parent_id`, { parent_id });
}

/** Parents that have timed out. */
export function due(db: Reader, now: number, limit: number): ParentAsk[] {
  return db.all(Row, `${PARENT} where due_at <= :now order by due_at limit :limit`, { now, limit });
}

/** The oldest parents created before `before` that have no open ask. */
export function finishedBefore(db: Reader, before: number, limit: number): ParentAsk[] {
  return db.all(
    Row,
    `${PARENT} where seq in (select seq from ask_parents order by seq limit :limit)
       and created_at < :before and not exists (
         select 1 from messages
         where ask_state = 'open' and messages.parent_id = ask_parents.parent_id)`,
    { before, limit },
  );
}

export function remove(tx: Tx, parent_id: string): void {
  tx.run("delete from ask_parents where parent_id = :parent_id", { parent_id });
}

/** Clears the timeout once the open children are closed. */
export function clearDue(tx: Tx, parent_id: string): void {
  tx.run("update ask_parents set due_at = null where parent_id = :parent_id", { parent_id });
}
