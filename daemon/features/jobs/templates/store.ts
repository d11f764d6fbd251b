/** SQL for recurring templates. Each function is one statement; no decision is taken here. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { Template } from "../record.ts";
import { type Filter, newestSql } from "../store.ts";

/** What is stored of a template: the record, and what only we need. */
export const StoredTemplate = Template.extend({
  /** Whether the human asked for it, through a proven door. */
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

/** Newest first. */
export function list(db: Reader, filter: Filter): StoredTemplate[] {
  return db.all(Row, LIST, { ...filter });
}

/** What is due, save where the last occurrence is still under way: these fire when it is over. */
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
