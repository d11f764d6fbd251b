/** SQL for recurring templates: each function is one statement and takes no decision. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Template } from "../record.ts";
import { type Filter, newestSql } from "../store.ts";

/** A template as stored: the record and internal fields. */
export const StoredTemplate = Template.extend({
  /** Whether the request came from a proven human origin (contract 2). */
  proven_human: z.boolean(),
});
export type StoredTemplate = z.output<typeof StoredTemplate>;

const Row = rowOf(StoredTemplate);
const columns = Object.keys(StoredTemplate.shape);
const LIST = newestSql("job_templates", "state = 'cancelled'");

export function insert(tx: Tx, template: StoredTemplate): void {
  tx.run(
    `insert into job_templates (${columns.join(", ")})
     values (${columns.map((column) => `:${column}`).join(", ")})`,
    z.encode(Row, template),
  );
}

export function update(
  tx: Tx,
  { calendar_id, state, updated_at, occurrences, ...next }: StoredTemplate,
): void {
  const { next_due_at, last_due_at, last_occurrence_work_id } = next;
  tx.run(
    `update job_templates set state = :state, next_due_at = :next_due_at,
       last_due_at = :last_due_at, last_occurrence_work_id = :last_occurrence_work_id,
       occurrences = :occurrences, updated_at = :updated_at
     where calendar_id = :calendar_id`,
    {
      calendar_id,
      state,
      updated_at,
      occurrences,
      next_due_at,
      last_due_at,
      last_occurrence_work_id,
    },
  );
}

export function get(db: Reader, calendar_id: string): StoredTemplate | undefined {
  return db.get(Row, "select * from job_templates where calendar_id = :calendar_id", {
    calendar_id,
  });
}

/** The templates that match, newest first. */
export function list(db: Reader, filter: Filter): StoredTemplate[] {
  return db.all(Row, LIST, { ...filter });
}

/**
 * Due templates whose last occurrence is settled. Any other due template fires once its last
 * occurrence settles.
 */
export function due(db: Reader, now: number, limit: number): StoredTemplate[] {
  return db.all(
    Row,
    `select * from job_templates where state = 'active' and next_due_at <= :now
       and not exists (
         select 1 from jobs where job_id = last_occurrence_work_id and settled_at is null)
     order by next_due_at, seq limit :limit`,
    { now, limit },
  );
}
