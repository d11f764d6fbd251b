/** Recurring templates. A template that is due fires once, however many fires were missed. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import { nextFire } from "kit/core/cron.ts";
import type { JobBody } from "../contract.ts";
import { illegalState, type JobFields } from "../job_fields.ts";
import type { Template } from "../record.ts";
import { type TemplateEvent, templateMachine } from "../machine.ts";
import type { Filter, StoredJob } from "../store.ts";
import * as rows from "./store.ts";
import type { StoredTemplate } from "./store.ts";

const TICK_ROWS_MAX = 100;

export interface TemplatesDeps {
  /** Creates a job as an occurrence of a template. */
  createJob(
    fields: JobFields,
    source: { readonly calendar_id: string; readonly due_at: number },
  ): StoredJob;
}

export class Templates {
  readonly #ctx: Context;
  readonly #deps: TemplatesDeps;

  constructor(ctx: Context, deps: TemplatesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
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
      return template;
    });
  }

  get(calendar_id: string): StoredTemplate | undefined {
    return rows.get(this.#ctx.db, calendar_id);
  }

  mustGet(calendar_id: string): StoredTemplate {
    const template = this.get(calendar_id);
    if (!template) throw new Problem("unknown_job", { job_id: calendar_id });
    return template;
  }

  list(filter: Filter): StoredTemplate[] {
    return rows.list(this.#ctx.db, filter);
  }

  pause(calendar_id: string): Template {
    return this.#step(calendar_id, "paused", () => ({ next_due_at: null }));
  }

  /** Resumes a paused template. Fires that were due during the pause are not made up for. */
  resume(calendar_id: string): Template {
    const now = this.#ctx.clock.now();
    return this.#step(calendar_id, "resumed", ({ cron, timezone }) => ({
      next_due_at: nextFire(cron, timezone, now) ?? null,
    }));
  }

  cancel(calendar_id: string): Template {
    return this.#step(calendar_id, "cancelled", () => ({ next_due_at: null }));
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
    const { calendar_id } = template;
    const job = this.#deps.createJob(template, { calendar_id, due_at });
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

  #step(
    calendar_id: string,
    event: Exclude<TemplateEvent, "fired">,
    change: (template: StoredTemplate) => Partial<StoredTemplate>,
  ): StoredTemplate {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.mustGet(calendar_id);
      if (!templateMachine.accepts(before.state, event)) throw illegalState(before, ACTIONS[event]);
      const state = templateMachine.step(before.state, event);
      const template = { ...before, ...change(before), state, updated_at: clock.now() };
      rows.update(tx, template);
      return template;
    });
  }
}

const ACTIONS = { paused: "pause", resumed: "resume", cancelled: "cancel" } as const;
