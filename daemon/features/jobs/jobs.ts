/** The jobs desk: work is entered, listed, updated, tried again and called off here. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Role } from "../peers/contract.ts";
import {
  ATTEMPTS_SHOWN_MAX,
  type Job,
  type JobAsked,
  type JobFilter,
  type JobInList,
  type JobResult,
  type JobUpdate,
  PROGRESS_EVENTS_MAX,
  type Template,
  type TemplateInList,
} from "./contract.ts";
import { executionOf, titleOf, toBriefJob, toBriefTemplate } from "./job_fields.ts";
import { Fires } from "./fires/fires.ts";
import type { FireDeps } from "./fires/deps.ts";
import * as attempts from "./fires/store.ts";
import { TURN_STARTED } from "./fires/turns.ts";
import { type JobEvent, jobMachine, type JobState } from "./machine.ts";
import { type NoticeDeps, Notices } from "./notices.ts";
import { JobSteps, lastingReason } from "./transitions.ts";
import * as rows from "./store.ts";
import type { StoredJob } from "./store.ts";
import { type JobFields, Templates } from "./templates/templates.ts";

/** Whoever asks for work when nobody is named. */
export const NOBODY = "cli";
const FORGET_ROWS_MAX = 100;
/** How many that are over a list shows where nobody says how many it is to show. */
export const SETTLED_SHOWN_MAX = 200;

interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Role | null;
  readonly mesh_session_id: string | null;
}

export interface JobsDeps extends FireDeps {
  readonly directory: {
    sender(argument: string): Sender;
    /** A peer by name or id that is not retired. */
    find(argument: string, scope: { circle?: string | undefined; caller: Sender }): {
      readonly peer_id: string;
      readonly circle: string;
    };
  };
  readonly notices: NoticeDeps;
  /** Whether `spawn.allowed_paths` names any folder. */
  readonly allows_paths: boolean;
  readonly history_ms: number;
}

export class Jobs {
  readonly #ctx: Context;
  readonly #deps: JobsDeps;
  readonly #steps: JobSteps;
  readonly #fires: Fires;
  readonly #templates: Templates;

  constructor(ctx: Context, deps: JobsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    const notices = new Notices(ctx, deps.notices);
    this.#steps = new JobSteps(ctx, notices);
    this.#fires = new Fires(ctx, deps, { steps: this.#steps, notices });
    this.#templates = new Templates(ctx, {
      createJob: (fields, { calendar_id, due_at }) => {
        const execution = {
          ...fields.execution,
          schedule: { ...fields.execution.schedule, due_at },
        };
        const source = { source_kind: "calendar" as const, source_id: calendar_id };
        return this.#createJob({ ...fields, execution }, { ...source, due_at });
      },
    });
  }

  /**
   * Refuses a folder that no agent could be started in, before anything is written. Where spawning
   * is not set up the job is kept: it becomes `unavailable`, and can be run once it is set up.
   */
  async refuseFolder(path: string | undefined): Promise<void> {
    if (path === undefined || !this.#deps.allows_paths) return;
    const found = await this.#deps.folder(path);
    if (!found.ok) throw new Problem("path_not_allowed", { path, reason: found.why });
  }

  /** A job; with `cron` the template that jobs come of. */
  create(asked: JobAsked, { proven_human }: { proven_human: boolean }): Job | Template {
    const fields = this.#toJobFields(asked, proven_human);
    const { cron, timezone, due_at = null, deadline_at, expires_at } = asked;
    return this.#ctx.db.transact(() => {
      if (cron !== undefined) return this.#templates.create(fields, { cron, timezone });
      const times = { due_at, deadline_at: deadline_at ?? null, expires_at: expires_at ?? null };
      return this.toJob(
        this.#createJob(fields, { source_kind: "request", source_id: null, ...times }),
      );
    });
  }

  get(id: string): Job | Template {
    return isTemplate(id) ? this.#templates.mustGet(id) : this.toJob(this.#mustGet(id));
  }

  list({ view, ...asked }: JobFilter): { work: JobInList[]; recurring: TemplateInList[] } {
    const { db } = this.#ctx;
    const { state = null, circle = null, owner_peer_id = null, limit = null } = asked;
    const filter = { state, circle, owner_peer_id, limit, settled_max: SETTLED_SHOWN_MAX };
    const work = rows.list(db, filter), recurring = this.#templates.list(filter);
    return view === "full"
      ? { work: work.map((job) => this.toJob(job)), recurring }
      : { work: work.map(toBriefJob), recurring: recurring.map(toBriefTemplate) };
  }

  /** What came of a job; of a template, what came of its last occurrence. */
  result(id: string): JobResult {
    if (!isTemplate(id)) return this.#mustGet(id);
    return this.#mustGet(this.#templates.mustGet(id).last_occurrence_work_id ?? id);
  }

  /** How a job goes, in the word of whoever works on it. What has come to rest stays as it is. */
  update(id: string, update: JobUpdate): Job {
    const { db } = this.#ctx;
    return db.transact(() => {
      if (isTemplate(id)) throw this.#illegalState(this.#templates.mustGet(id), "update");
      const job = this.#mustGet(id);
      if (this.#steps.isSettled(job)) throw this.#illegalState(job, "update");
      this.#checkAttempt(job, update);
      return this.toJob(this.#applyState(this.#applyFields(job, update), update));
    });
  }

  /** Begins now what waits, or tries anew what failed; a template fires by hand. */
  run(id: string): Job | Template {
    if (isTemplate(id)) {
      return this.#thenStartDue(() => this.toJob(this.#templates.run(id)));
    }
    return this.#thenStartDue(() => {
      const job = this.#mustGet(id);
      const now = this.#ctx.clock.now();
      if (job.state === "queued") return this.toJob(this.#steps.change(job, { look_at: now }));
      if (job.state === "delivered") throw this.#illegalState(job, "run");
      return this.toJob(this.#restart(job, "run"));
    });
  }

  retry(id: string): Job | Template {
    if (isTemplate(id)) throw this.#illegalState(this.#templates.mustGet(id), "retry");
    return this.#thenStartDue(() => this.toJob(this.#restart(this.#mustGet(id), "retry")));
  }

  cancel(id: string, reason: string | undefined): Job | Template {
    if (isTemplate(id)) return this.#templates.cancel(id);
    const { db, clock } = this.#ctx;
    return db.transact(() => {
      const job = this.#mustGet(id);
      if (!jobMachine.accepts(job.state, "cancelled")) throw this.#illegalState(job, "cancel");
      this.#fires.withdraw(job, "job_cancelled");
      const cancelled = this.#steps.settle(job, "cancelled", {
        cancel_requested: true,
        cancel_requested_at: clock.now(),
        cancellation_reason: reason ?? null,
      });
      return this.toJob(cancelled);
    });
  }

  pause(id: string): Template {
    if (!isTemplate(id)) throw this.#illegalState(this.#mustGet(id), "pause");
    return this.#templates.pause(id);
  }

  resume(id: string): Template {
    if (!isTemplate(id)) throw this.#illegalState(this.#mustGet(id), "resume");
    return this.#templates.resume(id);
  }

  /** A step of a delivery, inside of its own transaction. */
  stepped(...step: Parameters<Fires["turns"]["stepped"]>): void {
    this.#fires.turns.stepped(...step);
  }

  /** A prompt of a peer names these messages or attempts. */
  promptSeen(peer_id: string, ids: readonly string[]): void {
    this.#fires.turns.promptSeen(peer_id, ids);
  }

  /** A turn of a peer has ended with this message. */
  finalMessageSeen(peer_id: string, last_message: string): void {
    this.#fires.turns.finalMessageSeen(peer_id, last_message);
  }

  /** The peer whose session a spawned agent takes up; undefined where it begins a new one. */
  resumedPeerOf(spawn_id: string): string | undefined {
    const { db } = this.#ctx;
    const attempt = attempts.bySpawn(db, spawn_id);
    const job = attempt?.executor === "resumed" ? rows.get(db, attempt.job_id) : undefined;
    return job && (attempts.lastWorked(db, job)?.executor_peer_id ?? undefined);
  }

  unreachable(peer_id: string, why: "peer_retired" | "peer_not_addressable"): void {
    const { db, clock } = this.#ctx;
    if (why === "peer_retired") this.#fires.turns.executorDied(peer_id);
    else this.#fires.turns.unreachable(peer_id);
    db.transact((tx) => rows.wake(tx, peer_id, clock.now()));
  }

  start(): void {
    this.#fires.start();
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    this.#templates.tick(now);
    this.#fires.tick(now);
    const before = now - this.#deps.history_ms;
    if (rows.hasSettledBefore(db, before)) {
      db.transact((tx) => rows.removeSettled(tx, before, FORGET_ROWS_MAX));
    }
  }

  counts(): { [state: string]: number } {
    return Object.fromEntries(
      rows.counts(this.#ctx.db).map(({ state, count }) => [state, count]),
    );
  }

  async close(): Promise<void> {
    await this.#fires.close();
  }

  /** The record that the world sees. */
  toJob(stored: StoredJob): Job {
    const { attempt_count, current_attempt_id, lease_until, ...job } = stored;
    const shown = attempts.ofJob(this.#ctx.db, job.job_id, ATTEMPTS_SHOWN_MAX).toReversed();
    const runner = { attempt_count, current_attempt_id, lease_until, attempts: shown };
    return { ...job, work_id: job.job_id, runner };
  }

  #toJobFields(asked: JobAsked, calledByHuman: boolean): JobFields {
    const { directory } = this.#deps;
    const caller = directory.sender(asked.created_by ?? NOBODY);
    const proven_human = calledByHuman && caller.role === "human";
    const scope = { circle: asked.circle, caller };
    const assigned = asked.assigned_peer && directory.find(asked.assigned_peer, scope);
    const owner = asked.owner_peer && directory.find(asked.owner_peer, scope);
    this.#refuseUnknownChecks(asked.checks ?? []);
    return {
      title: asked.title ?? titleOf(asked),
      kind: asked.kind ?? "task",
      owner_peer_id: owner ? owner.peer_id : null,
      created_by_peer_id: caller.peer_id,
      mesh_session_id: caller.mesh_session_id,
      circle: asked.circle ?? caller.circle ?? (assigned ? assigned.circle : "default"),
      scope: "circle",
      visibility: "circle",
      request: asked.request ?? null,
      provenance: { created_by: caller.name, human: proven_human },
      execution: executionOf(asked, assigned ? assigned.peer_id : null),
      proven_human,
    };
  }

  #refuseUnknownChecks(names: readonly string[]): void {
    const known = Object.keys(this.#deps.checks);
    const check = names.find((name) => !known.includes(name));
    if (check === undefined) return;
    throw new Problem("unknown_check", { check, allowed: known.join(", ") || "none" });
  }

  #createJob(
    fields: JobFields,
    source:
      & Pick<StoredJob, "source_kind" | "source_id" | "due_at">
      & Partial<Pick<StoredJob, "deadline_at" | "expires_at">>,
  ): StoredJob {
    const { ids, clock } = this.#ctx;
    const now = clock.now();
    const job: StoredJob = {
      ...fields,
      job_id: ids.next("work"),
      state: "queued",
      state_reason: null,
      phase: null,
      deadline_at: null,
      expires_at: null,
      ...source,
      assigned_peer_id: fields.execution.target.assigned_peer_id,
      progress: null,
      progress_events: [],
      correlation_id: null,
      attempt_count: 0,
      current_attempt_id: null,
      lease_until: null,
      result_summary: null,
      result_data: null,
      error: null,
      artifacts: [],
      cancel_requested: false,
      cancel_requested_at: null,
      cancellation_reason: null,
      look_at: Math.max(now, source.due_at ?? now),
      deadline_told: false,
      created_at: now,
      updated_at: now,
    };
    return this.#thenStartDue(() => {
      this.#steps.create(job);
      return job;
    });
  }

  /** Does it, and looks at what is due once it is on the disk. */
  #thenStartDue<T extends Job | Template | StoredJob>(work: () => T): T {
    const { db } = this.#ctx;
    return db.transact((): { done: T } => {
      const done = work();
      db.afterCommit(() => this.#fires.startDue());
      return { done };
    }).done;
  }

  /** Another try: what the last one came to is no more the job's, but stays with its attempt. */
  #restart(job: StoredJob, action: "run" | "retry"): StoredJob {
    const { clock } = this.#ctx;
    if (!jobMachine.accepts(job.state, "retried")) throw this.#illegalState(job, action);
    const attempt = this.#steps.currentAttempt(job);
    this.#fires.withdraw(job, "job_retried");
    if (attempt) this.#steps.endAttempt(attempt, job, { event: "retried", reason: "retried" });
    return this.#steps.step(job, "retried", {
      phase: null,
      state_reason: null,
      look_at: clock.now(),
      lease_until: null,
      current_attempt_id: null,
      error: null,
      result_summary: null,
      result_data: null,
      progress: null,
    });
  }

  #checkAttempt(job: StoredJob, { attempt_id, state }: JobUpdate): void {
    const { job_id } = job;
    const attempt = this.#steps.currentAttempt(job);
    if (attempt_id !== undefined && attempt_id !== attempt?.attempt_id) {
      throw new Problem("stale_attempt", { job_id, attempt_id });
    }
    const isEnding = state === "completed" || state === "failed" || state === "cancelled";
    if (isEnding && attempt && attempt_id === undefined) {
      throw new Problem("attempt_id_required", { job_id });
    }
  }

  #applyFields(job: StoredJob, update: JobUpdate): StoredJob {
    const { phase, progress, progress_note: note } = update;
    const changesState = update.state !== undefined && update.state !== job.state;
    const change: Partial<StoredJob> = {
      ...(changesState && { state_reason: lastingReason(job) }), // It was the reason of the state before.
      ...(phase !== undefined && { phase }),
      ...(update.state_reason !== undefined && { state_reason: update.state_reason }),
      ...(progress !== undefined && { progress }),
      ...(update.result_summary !== undefined && { result_summary: update.result_summary }),
      ...(update.result_data !== undefined && { result_data: update.result_data }),
      ...(update.error !== undefined && { error: update.error }),
      ...(update.artifacts !== undefined && { artifacts: update.artifacts }),
    };
    if (phase !== undefined || progress !== undefined || note !== undefined) {
      const at = this.#ctx.clock.now();
      const event = { at, phase: phase ?? null, progress: progress ?? null, note: note ?? null };
      change.progress_events = [...job.progress_events, event].slice(-PROGRESS_EVENTS_MAX);
    }
    return { ...job, ...change };
  }

  /** Writes what was said, and steps where a state, or the phase of a turn, was reported. */
  #applyState(job: StoredJob, { state, phase, ...update }: JobUpdate): StoredJob {
    const state_reason = update.state_reason ?? null;
    const written = this.#steps.change(this.#mustGet(job.job_id), job);
    if (state === "completed" || state === "failed" || state === "cancelled") {
      if (!jobMachine.accepts(job.state, state)) throw this.#illegalState(job, "update");
      this.#fires.withdraw(job, "job_updated");
      if (state === "completed") return this.#fires.turns.complete(written, { state_reason });
      return this.#steps.settle(written, state, { state_reason });
    }
    const on: JobEvent | undefined = state === undefined
      ? phase === TURN_STARTED ? "turn_started" : undefined
      : EVENTS[state];
    if (on === undefined) return written;
    if (!jobMachine.accepts(job.state, on)) throw this.#illegalState(job, "update");
    const attempt = this.#steps.currentAttempt(written);
    if (on !== "turn_started") return this.#steps.step(written, on);
    const started = attempt ? this.#fires.turns.startTurn(written, attempt) : written;
    return started.state === "running" ? started : this.#steps.step(started, on);
  }

  #illegalState(
    record: StoredJob | { calendar_id: string; state: string },
    action: string,
  ): Problem {
    const job_id = "job_id" in record ? record.job_id : record.calendar_id;
    return new Problem("illegal_state", { job_id, state: record.state, action });
  }

  #mustGet(job_id: string): StoredJob {
    const job = rows.get(this.#ctx.db, job_id);
    if (!job) throw new Problem("unknown_job", { job_id });
    return job;
  }
}

/** What an executor reports, and what it means to the machine. */
const EVENTS = {
  running: "turn_started",
  awaiting_input: "needs_input",
  blocked: "stuck",
} as const satisfies Partial<Record<JobState, JobEvent>>;

function isTemplate(id: string): boolean {
  return id.startsWith("cal-");
}
