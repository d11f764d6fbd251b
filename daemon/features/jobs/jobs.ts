/** Creates, lists, runs, retries, cancels and deletes jobs. */

import type { Context } from "../../data/context.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Directory } from "../peers/directory.ts";
import { mustBeAllowed } from "../spawn/folders.ts";
import type { JobBody, JobFilter, JobResult, JobUpdate } from "protocol/jobs/contract.ts";
import type { Job, JobInList, Template, TemplateInList } from "protocol/jobs/record.ts";
import {
  illegalState,
  type JobFields,
  type JobSource,
  newJob,
  toBriefJob,
  toBriefTemplate,
  toJobFields,
} from "./job_fields.ts";
import { Fires } from "./fires/fires.ts";
import { type FireDeps, RunningWork } from "./fires/deps.ts";
import type { Turns } from "./fires/turns.ts";
import * as attempts from "./fires/store.ts";
import { jobMachine } from "protocol/jobs/states.ts";
import { Notices } from "./notices.ts";
import { JobSteps } from "./transitions.ts";
import * as rows from "./store.ts";
import type { StoredJob } from "./store.ts";
import type { StoredTemplate } from "./template_store.ts";
import { Templates } from "./templates.ts";
import { JobUpdates } from "./updates.ts";

/** Maximum attempts in a job's record, newest first. */
const ATTEMPTS_SHOWN_MAX = 20;
const FORGET_ROWS_MAX = 100;
/** Maximum settled jobs in a list without a limit. */
export const SETTLED_SHOWN_MAX = 200;

interface JobsDeps extends Omit<FireDeps, "notices" | "running" | "steps"> {
  readonly budgets: Budgets;
  readonly directory: Directory;
  readonly history_ms: number;
}

export class Jobs {
  readonly #ctx: Context;
  readonly #deps: JobsDeps;
  readonly #steps: JobSteps;
  readonly fires: Fires;
  readonly #updates: JobUpdates;
  readonly #templates: Templates;
  readonly #running = new RunningWork();
  readonly turns: Turns;

  constructor(ctx: Context, deps: JobsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    const notices = new Notices(ctx, deps.notifications);
    const steps = this.#steps = new JobSteps(ctx, notices);
    this.fires = new Fires(ctx, { ...deps, notices, running: this.#running, steps });
    this.turns = this.fires.turns;
    this.#updates = new JobUpdates(ctx, steps, this.turns);
    this.#templates = new Templates(ctx, (fields, source) => this.#createJob(fields, source));
  }

  /**
   * Throws `path_not_allowed` outside of `spawn.allowed_paths`. Without a configured folder,
   * accepts the job. It becomes `unavailable`, and can be run once spawning is configured.
   */
  async refuseFolder(path: string | undefined): Promise<void> {
    const { folders } = this.#deps;
    if (path === undefined || folders.allowed.length === 0) return;
    await mustBeAllowed(path, folders);
  }

  /** Creates a job, or a template if `cron` is given. */
  create(body: JobBody, requestContext: RequestContext): Job | Template {
    const fields = toJobFields(body, requestContext, this.#deps);
    const { cron, timezone, due_at = null, deadline_at, expires_at } = body;
    const { budgets } = this.#deps;
    if (body.budget !== undefined) budgets.mustParse(body.budget);
    const from = creatorOf(fields);
    return this.#ctx.db.transact((tx) => {
      if (cron !== undefined) {
        const template = this.#templates.create(fields, { cron, timezone });
        budgets.include(tx, template.calendar_id, from, requestContext, "schedule");
        return this.#toTemplate(template);
      }
      const times = { due_at, deadline_at: deadline_at ?? null, expires_at: expires_at ?? null };
      const job = this.#createJob(
        fields,
        { source_kind: "request", source_id: null, ...times },
        (job_id) => budgets.include(tx, job_id, from, requestContext),
      );
      return this.#toJob(job);
    });
  }

  get(id: string): Job | Template {
    return isTemplate(id)
      ? this.#toTemplate(this.#templates.mustGet(id))
      : this.#toJob(this.#steps.mustGet(id));
  }

  list({ view, ...query }: JobFilter): { work: JobInList[]; recurring: TemplateInList[] } {
    const { state = null, circle = null, owner_peer_id = null, limit = null } = query;
    const filter = { state, circle, owner_peer_id, limit, settled_max: SETTLED_SHOWN_MAX };
    const work = rows.list(this.#ctx.db, filter);
    const recurring = this.#templates.list(filter).map((template) => this.#toTemplate(template));
    return view === "full"
      ? { work: work.map((job) => this.#toJob(job)), recurring }
      : { work: work.map(toBriefJob), recurring: recurring.map(toBriefTemplate) };
  }

  /** The result of a job; for a template, the result of its last occurrence. */
  result(id: string): JobResult {
    if (!isTemplate(id)) return this.#steps.mustGet(id);
    return this.#steps.mustGet(this.#templates.mustGet(id).last_occurrence_work_id ?? id);
  }

  update(id: string, update: JobUpdate): Job {
    if (isTemplate(id)) throw illegalState(this.#templates.mustGet(id), "update");
    return this.#toJob(this.#updates.apply(id, update));
  }

  /** Starts a queued job now, retries a failed or unavailable job, or fires a template. */
  run(id: string): Job | Template {
    if (isTemplate(id)) {
      return this.#thenStartDue(() => this.#toJob(this.#templates.run(id)));
    }
    return this.#thenStartDue(() => {
      const job = this.#steps.mustGet(id);
      const now = this.#ctx.clock.now();
      if (job.state === "queued") return this.#toJob(this.#steps.change(job, { look_at: now }));
      if (job.state === "delivered") throw illegalState(job, "run");
      return this.#toJob(this.#restart(job, "run"));
    });
  }

  retry(id: string): Job | Template {
    if (isTemplate(id)) throw illegalState(this.#templates.mustGet(id), "retry");
    return this.#thenStartDue(() => this.#toJob(this.#restart(this.#steps.mustGet(id), "retry")));
  }

  cancel(id: string, reason: string | undefined): Job | Template {
    if (isTemplate(id)) return this.#toTemplate(this.#templates.step(id, "cancelled"));
    const { db, clock } = this.#ctx;
    return db.transact(() => {
      const job = this.#steps.mustGet(id);
      if (!jobMachine.accepts(job.state, "cancelled")) throw illegalState(job, "cancel");
      this.turns.withdrawMessage(job, "job_cancelled");
      const cancelled = this.#steps.settle(job, "cancelled", {
        cancel_requested: true,
        cancel_requested_at: clock.now(),
        cancellation_reason: reason ?? null,
      });
      return this.#toJob(cancelled);
    });
  }

  pause(id: string): Template {
    if (!isTemplate(id)) throw illegalState(this.#steps.mustGet(id), "pause");
    return this.#toTemplate(this.#templates.step(id, "paused"));
  }

  resume(id: string): Template {
    if (!isTemplate(id)) throw illegalState(this.#steps.mustGet(id), "resume");
    return this.#toTemplate(this.#templates.step(id, "resumed"));
  }

  /** The peer whose session a spawned agent resumes; undefined for a new session. */
  resumedPeerOf(spawn_id: string): string | undefined {
    const { db } = this.#ctx;
    const attempt = attempts.bySpawn(db, spawn_id);
    const job = attempt?.executor === "resumed" ? rows.get(db, attempt.job_id) : undefined;
    return job && (attempts.lastWorked(db, job)?.executor_peer_id ?? undefined);
  }

  unreachable(peer_id: string, why: "peer_retired" | "peer_not_addressable"): void {
    const { db, clock } = this.#ctx;
    if (why === "peer_retired") this.turns.executorDied(peer_id);
    else this.turns.unreachable(peer_id);
    db.transact((tx) => rows.wake(tx, peer_id, clock.now()));
  }

  start(): void {
    this.fires.start();
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    for (const part of [this.#templates, this.fires, this.#updates]) part.tick(now);
    const before = now - this.#deps.history_ms;
    if (rows.hasSettledBefore(db, before)) {
      db.transact((tx) => rows.removeSettled(tx, before, FORGET_ROWS_MAX));
    }
  }

  /** Called after the clock was set back, when postponed jobs would otherwise wait too long. */
  clockSetBack(now: number): void {
    this.#ctx.db.transact((tx) => rows.endPostponements(tx, now));
  }

  counts(): { [state: string]: number } {
    const counts = rows.counts(this.#ctx.db);
    return Object.fromEntries(counts.map(({ state, count }) => [state, count]));
  }

  /** Waits for launches, checks and releases in progress. */
  async close(): Promise<void> {
    await this.#running.whenDone();
  }

  /** The public record of a job. */
  #toJob(stored: StoredJob): Job {
    const { attempt_count, current_attempt_id, lease_until, ...job } = stored;
    const shown = attempts.ofJob(this.#ctx.db, job.job_id, ATTEMPTS_SHOWN_MAX).toReversed();
    const runner = { attempt_count, current_attempt_id, lease_until, attempts: shown };
    return { ...job, work_id: job.job_id, runner };
  }

  #toTemplate(stored: StoredTemplate): Template {
    const { state, next_due_at, last_occurrence_work_id } = stored;
    const { db, clock } = this.#ctx;
    const isDue = state === "active" && next_due_at !== null && next_due_at <= clock.now();
    const last = isDue ? rows.get(db, last_occurrence_work_id ?? "") : undefined;
    const isOpen = last !== undefined && !this.#steps.isSettled(last);
    return { ...stored, waits_for_work_id: isOpen ? last.job_id : null };
  }

  /** `include` records the budget that the job counts to; by default its template's. */
  #createJob(
    fields: JobFields,
    source: JobSource,
    include = (job_id: string) => this.#inheritBudget(job_id, source),
  ): StoredJob {
    const { ids, clock, db } = this.#ctx;
    const job = newJob(ids.next("work"), fields, source, clock.now());
    return this.#thenStartDue(() => {
      this.#steps.create(job);
      include(job.job_id);
      const { budget } = fields.execution;
      if (budget !== null) {
        db.transact((tx) => this.#deps.budgets.giveJob(tx, job.job_id, budget, creatorOf(fields)));
      }
      return job;
    });
  }

  #inheritBudget(job_id: string, { source_id }: JobSource): void {
    const { db } = this.#ctx;
    if (source_id !== null) db.transact((tx) => this.#deps.budgets.inherit(tx, job_id, source_id));
  }

  /** Does the work in a transaction, and starts due jobs after its commit. */
  #thenStartDue<T extends Job | Template | StoredJob>(work: () => T): T {
    const { db } = this.#ctx;
    return db.transact((): { done: T } => {
      const done = work();
      db.afterCommit(() => this.fires.startDue());
      return { done };
    }).done;
  }

  /** Queues a job again. The attempt in progress ends, and the job's results are cleared. */
  #restart(job: StoredJob, action: "run" | "retry"): StoredJob {
    if (!jobMachine.accepts(job.state, "retried")) throw illegalState(job, action);
    const attempt = this.#steps.currentAttempt(job);
    this.turns.withdrawMessage(job, "job_retried");
    if (attempt) this.#steps.endAttempt(attempt, job, { event: "retried", reason: "retried" });
    return this.#steps.step(job, "retried", {
      phase: null,
      state_reason: null,
      look_at: this.#ctx.clock.now(),
      lease_until: null,
      current_attempt_id: null,
      error: null,
      result_summary: null,
      result_data: null,
      progress: null,
    });
  }
}

/** The creator of a job, as the giver of its budget. */
function creatorOf({ created_by_peer_id: peer_id, provenance }: JobFields) {
  return { peer_id, name: String(provenance["created_by"] ?? "") };
}

function isTemplate(id: string): boolean {
  return id.startsWith("cal-");
}
