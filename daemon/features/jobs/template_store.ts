/** SQL for recurring templates: each function is one statement and takes no decision. */

import * as z from "zod";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Template } from "protocol/jobs/record.ts";
import { type Filter, newestSql } from "./store.ts";

/** A template as stored: the record and internal fields. */
export const StoredTemplate = Template.omit({ waits_for_work_id: true }).extend({
  /** True if the request came from a proven human origin (contract 2). */
  proven_human: z.boolean(),
  /** True if the caller was not proved to be the sender (contract 11). */
  unverified: z.boolean(),
});
export type StoredTemplate = z.output<typeof StoredTemplate>;

const table = tableOf("job_templates", StoredTemplate, "calendar_id");
export const { insert, update, get } = table;

/** The first ids that begin with `short`. */
export const idsFrom = idsOf("job_templates", "calendar_id");

const LIST = newestSql("job_templates", "state = 'cancelled'");

/** The templates that match, newest first. */
export function list(db: Reader, filter: Filter): StoredTemplate[] {
  return db.all(table.row, LIST, { ...filter });
}

/** True if a peer owns or created a template that is not cancelled. */
export function involves(db: Reader, peer_id: string): boolean {
  const statement = `select 1 from job_templates where state <> 'cancelled' and :peer_id in
    (owner_peer_id, created_by_peer_id, json_extract(execution, '$.target.assigned_peer_id'))
    limit 1`;
  return db.value(z.number(), statement, { peer_id }) !== undefined;
}

/** Due templates whose last occurrence is settled. The others fire once theirs settles. */
export function due(db: Reader, now: number, limit: number): StoredTemplate[] {
  return table.all(
    db,
    `where state = 'active' and next_due_at <= :now
       and not exists (
         select 1 from jobs where job_id = last_occurrence_work_id and settled_at is null)
     order by next_due_at, seq limit :limit`,
    { now, limit },
  );
}
