/** SQL for pinned machines: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf, type Tx } from "kit/data/sqlite.ts";
import { SignedCard } from "./trust/cards.ts";

/** A machine whose keys this daemon trusts. */
export const Machine = z.object({
  daemon_id: z.string(),
  name: z.string(),
  card: SignedCard,
  pinned_at: Instant,
  /** When anything authentic last came from it; null before that. */
  last_seen: Instant.nullable(),
});
export type Machine = z.output<typeof Machine>;

const table = tableOf("machines", Machine, "daemon_id");
export const { get, insert: pin, update, remove: forget } = table;

/** All pinned machines, by name. */
export function list(db: Reader): Machine[] {
  return table.all(db, "order by name");
}

/** Finds a machine by its name; upper and lower case are the same. */
export function getByName(db: Reader, name: string): Machine | undefined {
  return db.get(table.row, `${table.select} where name = :name`, { name });
}

export function count(db: Reader): number {
  return db.value(z.number(), "select count(*) from machines") ?? 0;
}

export function touch(tx: Tx, daemon_id: string, last_seen: number): number {
  return tx.run("update machines set last_seen = :last_seen where daemon_id = :daemon_id", {
    daemon_id,
    last_seen,
  });
}
