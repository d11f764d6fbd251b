/** The restarts desk: one journaled walk from preflight to seed; nothing is stopped unchecked. */

import type { Context } from "kit/data/context.ts";
import { Problem, recoverableProblem } from "kit/core/problem.ts";
import { type RestartEvent, restartMachine } from "../machine.ts";
import { type RestartAsked } from "./contract.ts";
import { type Restart, type RestartBlock, RestartStage } from "../../peers/restart.ts";
import { preflight, type PreflightRefusal, type RestartPlan } from "./preflight.ts";
import * as rows from "./store.ts";
import type { StoredRestart } from "./store.ts";
import { RestartFailure, RestartRun } from "./restart_run.ts";
import type { RestartDeps } from "./deps.ts";

/** How a registration came in. */
interface RegistrationEvidence {
  readonly by_hook?: boolean;
  /** Whether the kernel shows that this process, or one below it, sends the registration. */
  readonly isProcess?: (pid: number) => boolean;
}

/** Whoever asks without saying who. */
const NOBODY = "cli";

export class Restarts {
  readonly #ctx: Context;
  readonly #deps: RestartDeps;
  readonly #runs = new Map<string, Promise<void>>();

  constructor(ctx: Context, deps: RestartDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Answered at its end, or at once when nobody waits (specification 4). */
  async restart(
    argument: string,
    asked: RestartAsked,
    requestContext: { proven_human: boolean },
  ): Promise<Restart> {
    const { peer_id } = this.#deps.find(argument, asked.circle);
    const from = this.#deps.sender(asked.from_peer ?? NOBODY);
    await this.#deps.mustBeEnabled();
    const started_at = this.#ctx.clock.now();
    const checked = await this.#preflight(peer_id, asked.fresh);
    if (asked.dry_run) return this.#preview(checked, started_at);
    const stored = this.#create(peer_id, checked, { asked, from, requestContext, started_at });
    if (typeof stored === "string") return this.#toRefusal(checked, stored, started_at);
    const { restart_id } = stored;
    if (checked.ok) {
      const run = new RestartRun(this.#ctx, this.#deps, this, checked, restart_id).run();
      this.#runs.set(restart_id, run.finally(() => this.#runs.delete(restart_id)));
    }
    if (asked.wait) await this.#runs.get(restart_id);
    return toRestart(rows.get(this.#ctx.db, restart_id) ?? stored);
  }

  latest(argument: string, circle: string | undefined): Restart {
    const { peer_id } = this.#deps.find(argument, circle);
    const found = rows.latest(this.#ctx.db, peer_id);
    if (!found) throw new Problem("no_restart", { peer_id });
    return toRestart(found);
  }

  /** Up to and including `quiesce` nothing was touched, and it can be called off. */
  cancel(argument: string, circle: string | undefined) {
    const { db } = this.#ctx;
    const { peer_id } = this.#deps.find(argument, circle);
    return db.transact(() => {
      const found = rows.latest(db, peer_id);
      const notCancelled = (reason: string) => ({ cancelled: false as const, reason });
      if (!found || found.finished_at !== null) return notCancelled("no_restart_in_flight");
      if (!restartMachine.accepts(found.state, "cancelled")) {
        return notCancelled(`already_at_${found.state}`);
      }
      this.step(found.restart_id, "cancelled");
      return { cancelled: true as const };
    });
  }

  /** What every reader of a peer is told of restarts. */
  async block(peer_id: string): Promise<RestartBlock> {
    const last = rows.latest(this.#ctx.db, peer_id);
    const checked = await this.#preflight(peer_id, false);
    const { would_run, resume_mode } = checked;
    return {
      restartable: checked.ok,
      reason: checked.ok ? null : checked.reason,
      resume_mode,
      would_run: would_run && [...would_run],
      last: last ? toRestart(last) : null,
    };
  }

  /** After a crash: what was under way has failed, or is proved to have come about. */
  start(): void {
    for (const open of rows.open(this.#ctx.db)) {
      const { restart_id, peer_id, state, old_pid, old_started, new_pid, new_started } = open;
      const runs = new_pid !== null && new_started !== null &&
        this.#deps.processes.isAlive(new_pid, new_started);
      const stage = RestartStage.parse(state);
      const isWanted = (this.#deps.subject(peer_id)?.status ?? "retired") !== "retired";
      if (isWanted && runs && (stage === "register" || stage === "seed")) {
        this.#deps.peers.register(peer_id, new_pid);
        this.finish(restart_id);
      } else {
        const detail = `The daemon ended while this restart was at ${stage}`;
        this.fail(restart_id, new RestartFailure("daemon_restart", detail));
        if (isWanted && old_pid !== null && old_started !== null) {
          // What was to be stopped runs on.
          if (this.#deps.processes.isAlive(old_pid, old_started)) {
            this.#deps.peers.markSeen(peer_id);
          }
        }
      }
    }
  }

  /** Waits for the walks under way; what they have not done, the next start tells. */
  async close(): Promise<void> {
    await Promise.all(this.#runs.values());
  }

  mustGet(restart_id: string): StoredRestart {
    const found = rows.get(this.#ctx.db, restart_id);
    if (!found) throw new Error(`No restart ${restart_id} in the journal`);
    return found;
  }

  /** One step of the table, written with its time, and said. */
  step(restart_id: string, on: RestartEvent, change: Partial<StoredRestart> = {}): StoredRestart {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.mustGet(restart_id);
      const state = restartMachine.step(before.state, on);
      const isFinished = restartMachine.isFinal(state);
      const stage = RestartStage.safeParse(state).data;
      const at = clock.now();
      const now: StoredRestart = {
        ...before,
        ...change,
        state,
        stages: stage ? [...before.stages, { stage, at }] : before.stages,
        finished_at: isFinished ? at : null,
      };
      rows.update(tx, now);
      this.#publish(before, now, on);
      return now;
    });
  }

  fail(restart_id: string, { reason, message }: RestartFailure): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const { state, finished_at } = this.mustGet(restart_id);
      if (finished_at !== null) return;
      const stage = RestartStage.parse(state);
      this.step(restart_id, "failed", { failed: { stage, reason, detail: message }, seed: null });
    });
  }

  /** The peer is back: its message goes into its queue, in the same transaction. */
  finish(restart_id: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const stored = this.mustGet(restart_id);
      const { seed, seed_from, seed_human, peer_id, state } = stored;
      if (seed === null) return void this.step(restart_id, "restarted");
      if (state === "register") this.step(restart_id, "seeding");
      const note = { from_peer: seed_from ?? NOBODY, to_peer: peer_id, text: seed };
      try {
        this.#deps.notify(note, { proven_human: seed_human });
      } catch (error) {
        const refusal = recoverableProblem(error);
        if (!refusal) throw error;
        const detail = `The agent is back, but its message was refused: ${refusal.toBody().detail}`;
        return this.fail(restart_id, new RestartFailure(refusal.code, detail));
      }
      this.step(restart_id, "restarted", { seed: null });
    });
  }

  #preflight(peer_id: string, fresh: boolean): Promise<RestartPlan | PreflightRefusal> {
    const subject = this.#deps.subject(peer_id);
    if (!subject) throw new Problem("unknown_peer", { peer: peer_id });
    return preflight(subject, { fresh }, this.#deps);
  }

  /** A dry run is not written down: it is no restart. */
  #preview(checked: RestartPlan | PreflightRefusal, started_at: number): Restart {
    if (!checked.ok) return this.#toRefusal(checked, checked, started_at);
    return { ...this.#draft(checked, started_at), outcome: "would_restart" };
  }

  #toRefusal(
    checked: RestartPlan | PreflightRefusal,
    why: { reason: string; detail: string } | string,
    started_at: number,
  ): Restart {
    const detail = "Another restart of this peer is under way";
    const { reason, detail: said } = typeof why === "string" ? { reason: why, detail } : why;
    const failed = { stage: "preflight" as const, reason, detail: said };
    return { ...this.#draft(checked, started_at), outcome: "failed", failed };
  }

  #draft({ would_run, resume_mode }: RestartPlan | PreflightRefusal, started_at: number) {
    return {
      restart_id: this.#ctx.ids.next("restart"),
      resume_mode,
      would_run: would_run && [...would_run],
      stages: [{ stage: "preflight" as const, at: started_at }],
      started_at,
      finished_at: this.#ctx.clock.now(),
    };
  }

  /** The first row of the journal; a reason when there is one under way. */
  #create(
    peer_id: string,
    checked: RestartPlan | PreflightRefusal,
    { asked, from, requestContext, started_at }: {
      asked: RestartAsked;
      from: string;
      requestContext: { proven_human: boolean };
      started_at: number;
    },
  ): StoredRestart | "restart_in_progress" {
    const { db, events } = this.#ctx;
    const { restart_id, stages, would_run, resume_mode } = this.#draft(checked, started_at);
    return db.transact((tx) => {
      if (rows.open(db).some((open) => open.peer_id === peer_id)) return "restart_in_progress";
      const plan = checked.ok ? checked : undefined;
      const stored: StoredRestart = {
        restart_id,
        peer_id,
        state: "preflight",
        resume_mode,
        would_run,
        stages,
        started_at,
        failed: null,
        tmux_socket: plan?.socket ?? null,
        pane_id: plan?.pane.pane_id ?? null,
        old_pid: plan?.process?.pid ?? null,
        old_started: plan?.process?.started ?? null,
        new_pid: null,
        new_started: null,
        seed: asked.message ?? null,
        seed_from: from,
        seed_human: requestContext.proven_human,
        finished_at: null,
      };
      rows.insert(tx, stored);
      events.append("peer_restart_started", { restart_id, peer_id, stage: "preflight" });
      if (!checked.ok) this.fail(restart_id, new RestartFailure(checked.reason, checked.detail));
      return this.mustGet(restart_id);
    });
  }

  #publish(
    { state: stage }: StoredRestart,
    { restart_id, peer_id, state, failed }: StoredRestart,
    on: RestartEvent,
  ) {
    const { events } = this.#ctx;
    const ids = { restart_id, peer_id };
    if (on === "launched") events.append("peer_restart_launched", { ...ids, stage: "launch" });
    if (state === "restarted") events.append("peer_restart_restarted", { ...ids, stage });
    if (state === "failed" || state === "cancelled") {
      const reason = failed?.reason ?? "cancelled";
      events.append("peer_restart_failed", { ...ids, stage, reason });
    }
  }
}

function toRestart(stored: StoredRestart): Restart {
  const { restart_id, state, resume_mode, would_run, failed, stages } = stored;
  const { started_at, finished_at } = stored;
  const isFinished = state === "restarted" || state === "failed" || state === "cancelled";
  return {
    restart_id,
    outcome: isFinished ? state : "in_progress",
    resume_mode,
    would_run,
    ...(failed && { failed }),
    stages,
    started_at,
    finished_at,
  };
}
