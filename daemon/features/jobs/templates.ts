/** Recurring templates. A template that is due fires once, however many fires were missed. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { nextFire } from "kit/core/cron_pattern.ts";
import type { JobBody } from "protocol/jobs/contract.ts";
import { illegalState, type JobFields, type JobSource } from "./job_fields.ts";
import { type TemplateEvent, templateMachine } from "protocol/jobs/states.ts";
import type { Filter, StoredJob } from "./store.ts";
import * as rows from "./template_store.ts";
import type { StoredTemplate } from "./template_store.ts";

const TICK_ROWS_MAX = 100;

export class Templates {
  readonly #ctx: Context;
  readonly #createJob: (fields: JobFields, source: JobSource) => StoredJob;

  constructor(ctx: Context, createJob: (fields: JobFields, source: JobSource) => StoredJob) {
    this.#ctx = ctx;
    this.#createJob = createJob;
  }

  create(fields: JobFields, { cron = "", timezone = "UTC" }: Pick<JobBody, "cron" | "timezone">) {
    const { db, ids, clock } = this.#ctx;
    const calendar_id = ids.next("cal");
    const now = clock.now();
    const { execution } = fields;
    const schedule = { ...execution.schedule, cron, timezone, calendar_id };
    const template: StoredTemplate = {
      ...fields,
      calendar_id,
      state: "active",
      cron,
      timezone,
      execution: { ...execution, schedule },
      next_due_at: nextFire(cron, timezone, now) ?? null,
      last_due_at: null,
      last_occurrence_work_id: null,
      occurrences: 0,
      created_at: now,
      updated_at: now,
    };
    return db.transact((tx) => {
      rows.insert(tx, template);
      return this.#publishChange(template);
    });
  }

  mustGet(calendar_id: string): StoredTemplate {
    const template = rows.get(this.#ctx.db, calendar_id);
    if (!template) throw new Problem("unknown_job", { job_id: calendar_id });
    return template;
  }

  list(filter: Filter): StoredTemplate[] {
    return rows.list(this.#ctx.db, filter);
  }

  /** Fires a template now. Its next regular fire does not change. */
  run(calendar_id: string): StoredJob {
    const { db, clock } = this.#ctx;
    return db.transact(() => {
      const template = this.mustGet(calendar_id);
      if (!templateMachine.accepts(template.state, "fired")) throw illegalState(template, "run");
      return this.#fire(template, clock.now(), template.next_due_at);
    });
  }

  /**
   * Fires the due templates. The occurrence and the next instant are stored in one transaction, so
   * that each fire happens once across restarts. Missed fires collapse into one occurrence.
   */
  tick(now: number): void {
    const { db } = this.#ctx;
    for (const template of rows.due(db, now, TICK_ROWS_MAX)) {
      const { cron, timezone, next_due_at } = template;
      db.transact(() => {
        this.#fire(template, next_due_at ?? now, nextFire(cron, timezone, now) ?? null);
      });
    }
  }

  #fire(template: StoredTemplate, due_at: number, next_due_at: number | null): StoredJob {
    const { db, clock } = this.#ctx;
    const { calendar_id: source_id, execution } = template;
    const schedule = { ...execution.schedule, due_at };
    const source = { source_kind: "calendar" as const, source_id, due_at };
    const job = this.#createJob({ ...template, execution: { ...execution, schedule } }, source);
    db.transact((tx) =>
      rows.update(tx, {
        ...template,
        state: templateMachine.step(template.state, "fired"),
        next_due_at,
        last_due_at: due_at,
        last_occurrence_work_id: job.job_id,
        occurrences: template.occurrences + 1,
        updated_at: clock.now(),
      })
    );
    return job;
  }

  /** Pauses, resumes or cancels a template. Missed fires of a pause are skipped. */
  step(calendar_id: string, event: Exclude<TemplateEvent, "fired">): StoredTemplate {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.mustGet(calendar_id);
      if (!templateMachine.accepts(before.state, event)) throw illegalState(before, ACTIONS[event]);
      const state = templateMachine.step(before.state, event);
      const { cron, timezone } = before;
      const now = clock.now();
      const next_due_at = event === "resumed" ? nextFire(cron, timezone, now) ?? null : null;
      const template = { ...before, state, next_due_at, updated_at: now };
      rows.update(tx, template);
      return this.#publishChange(template);
    });
  }

  /** Publishes that a template was created, paused, resumed or cancelled. */
  #publishChange(template: StoredTemplate): StoredTemplate {
    const { calendar_id, state } = template;
    this.#ctx.events.append("job_template_changed", { calendar_id, state });
    return template;
  }
}

const ACTIONS = { paused: "pause", resumed: "resume", cancelled: "cancel" } as const;
