/** SQL of leases, one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";

const nullableString = z.string().nullable();

export const StoredLease = z.object({
  lease_id: z.string(),
  resource: z.string(),
  name: nullableString,
  port: z.number().int().nullable(),
  peer_id: nullableString,
  /** True for an agent itself: its next process keeps the lease. */
  of_agent: z.boolean(),
  start_id: nullableString,
  starting_at: Instant.nullable(),
  pid: z.number().int().nullable(),
  process_started: nullableString,
  taken_at: Instant,
});
export type StoredLease = z.output<typeof StoredLease>;

const table = tableOf("leases", StoredLease, "lease_id");
export const { insert, update, get, remove } = table;

export function all(db: Reader): StoredLease[] {
  return table.all(db, "order by taken_at, lease_id");
}
