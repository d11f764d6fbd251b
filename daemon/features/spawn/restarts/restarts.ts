/** Previews, starts, cancels and reports restarts; resolves those that a crash interrupted. */

import { detached } from "kit/data/request_writes.ts";
import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import type { Backend } from "protocol/agents/contract.ts";
import type { RequestContext } from "../../messages/request_context.ts";
import type { PeerQuery } from "../../peers/directory.ts";
import { type Restart, type RestartBlock, RestartStage } from "protocol/peers/record.ts";
import type { SpawnDeps } from "../deps.ts";
import type { Launcher } from "../launcher.ts";
import { restartMachine } from "../states.ts";
import * as spawnRows from "../store.ts";
import type { RestartRequest } from "protocol/spawn/restarts.ts";
import {
  preflight,
  type PreflightOptions,
  type PreflightRefusal,
  RestartFailure,
  type RestartPlan,
} from "./preflight.ts";
import { RestartRecords } from "./records.ts";
import { readSubject } from "./replacement.ts";
import { type MakeSeed, RestartRun } from "./restart_run.ts";
import * as rows from "./store.ts";
import type { StoredRestart } from "./store.ts";

/** Another agent for a peer, and its first message. */
interface AgentChange {
  readonly to_backend: Backend;
  readonly profile: string | undefined;
  readonly force: boolean;
  readonly makeSeed: MakeSeed;
}

export class Restarts {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  readonly #launcher: Launcher;
  readonly #records: RestartRecords;
  readonly #runs = new Map<string, Promise<void>>();

  constructor(ctx: Context, deps: SpawnDeps, launcher: Launcher) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#launcher = launcher;
    this.#records = new RestartRecords(ctx, deps);
  }

  /**
   * Restarts a peer. With `wait`, resolves when the restart is over; otherwise once it has begun
   * (specification 4). With `change`, another agent replaces the peer's own.
   */
  async restart(
    argument: string,
    request: RestartRequest,
    requestContext: RequestContext,
    change?: AgentChange,
  ): Promise<Restart> {
    const { directory } = this.#deps;
    const { peer_id } = directory.findFor(argument, request);
    const from = directory.senderId(request.from_peer ?? ANONYMOUS_SENDER);
    await this.#launcher.mustBeEnabled();
    const started_at = this.#ctx.clock.now();
    const checked = await this.#preflight(peer_id, { fresh: request.fresh, ...change });
    const draft = this.#draft(checked, started_at);
    if (request.dry_run) {
      return checked.ok ? { ...draft, outcome: "would_restart" } : toRefusal(draft, checked);
    }
    const { restart_id } = draft;
    const stored = this.#records.create(
      toStored(draft, checked, {
        peer_id,
        seed: request.message ?? null,
        seed_from: from,
        seed_human: requestContext.proven_human,
        seed_unverified: requestContext.unverified ?? false,
        to_backend: change?.to_backend ?? null,
      }),
      checked.ok ? undefined : new RestartFailure(checked.reason, checked.detail),
    );
    await this.#ctx.db.whenDurable();
    if (!stored) {
      const detail = "Another restart of this peer is in progress";
      return toRefusal(draft, { reason: "restart_in_progress", detail });
    }
    if (checked.ok) {
      const options = { plan: checked, restart_id, makeSeed: change?.makeSeed };
      const restart = new RestartRun(this.#ctx, this.#deps, this.#records, options);
      const run = detached(() => restart.run());
      this.#runs.set(restart_id, run.finally(() => this.#runs.delete(restart_id)));
    }
    if (request.wait) await this.#runs.get(restart_id);
    return toRestart(rows.get(this.#ctx.db, restart_id) ?? stored);
  }

  latest(argument: string, query: PeerQuery): Restart {
    const { peer_id } = this.#deps.directory.findFor(argument, query);
    const found = rows.latest(this.#ctx.db, peer_id);
    if (!found) throw new Problem("no_restart", { peer_id });
    return toRestart(found);
  }

  /**
   * Cancels a restart. This is possible up to and including `quiesce`, because the process is
   * stopped after that stage.
   */
  cancel(argument: string, query: PeerQuery) {
    const { db } = this.#ctx;
    const { peer_id } = this.#deps.directory.findFor(argument, query);
    return db.transact(() => {
      const found = rows.latest(db, peer_id);
      const notCancelled = (reason: string) => ({ cancelled: false as const, reason });
      if (!found || found.finished_at !== null) return notCancelled("no_restart_in_flight");
      if (!restartMachine.accepts(found.state, "cancelled")) {
        return notCancelled(`already_at_${found.state}`);
      }
      this.#records.step(found.restart_id, "cancelled");
      return { cancelled: true as const };
    });
  }

  /** The `restart` block of `GET /peers/{id}`. */
  async block(peer_id: string): Promise<RestartBlock> {
    const last = rows.latest(this.#ctx.db, peer_id);
    const checked = await this.#preflight(peer_id, { fresh: false });
    const { would_run, resume_mode } = checked;
    return {
      restartable: checked.ok,
      reason: checked.ok ? null : checked.reason,
      resume_mode,
      would_run: would_run && [...would_run],
      last: last ? toRestart(last) : null,
    };
  }

  /** Called after a start. Resolves the restarts that were in progress when the daemon ended. */
  start(): void {
    for (const open of rows.open(this.#ctx.db)) this.#resolve(open);
  }

  /** Waits for the runs. Those that the shutdown interrupts are left to the next `start`. */
  async close(): Promise<void> {
    await Promise.all(this.#runs.values());
  }

  /**
   * Resolves an interrupted restart. If its new process is proved to run, the restart is finished;
   * otherwise it has failed.
   */
  #resolve({ restart_id, peer_id, state, ...open }: StoredRestart): void {
    const { peers } = this.#deps;
    const stage = RestartStage.parse(state);
    const isWanted = (readSubject(this.#ctx.db, peer_id)?.status ?? "retired") !== "retired";
    const { new_pid } = open;
    const wasLaunched = stage === "register" || stage === "seed";
    if (isWanted && wasLaunched && new_pid !== null && this.#isAlive(new_pid, open.new_started)) {
      peers.registerRestarted(peer_id, new_pid);
      return this.#records.finish(restart_id);
    }
    const detail = `The daemon ended while this restart was at ${stage}`;
    this.#records.fail(restart_id, new RestartFailure("daemon_restart", detail));
    // The old process still runs, so the peer stays online.
    if (isWanted && this.#isAlive(open.old_pid, open.old_started)) {
      peers.markSeen(peer_id, "process");
    }
  }

  #isAlive(pid: number | null, started: string | null): boolean {
    return pid !== null && started !== null && this.#deps.processes.isAlive(pid, started);
  }

  #preflight(
    peer_id: string,
    options: Omit<PreflightOptions, "profile" | "is_resumed"> & Partial<AgentChange>,
  ): Promise<RestartPlan | PreflightRefusal> {
    const { db } = this.#ctx;
    const subject = readSubject(db, peer_id);
    if (!subject) throw new Problem("unknown_peer", { peer: peer_id });
    const spawn = spawnRows.ofPeer(db, peer_id);
    // A profile belongs to the agent that it was made for.
    const own = spawn?.backend === subject.backend ? spawn?.profile ?? undefined : undefined;
    const profile = options.to_backend === undefined ? own : options.profile;
    const { backend, runtime_session_id } = subject;
    const is_resumed = spawnRows.open(db).some((spawn) =>
      spawn.resumed_session === runtime_session_id && spawn.backend === backend &&
      runtime_session_id !== null
    );
    return preflight(subject, { ...options, profile, is_resumed }, this.#deps);
  }

  #draft({ would_run, resume_mode }: RestartPlan | PreflightRefusal, started_at: number): Draft {
    return {
      restart_id: this.#ctx.ids.next("restart"),
      resume_mode,
      would_run: would_run && [...would_run],
      stages: [{ stage: "preflight", at: started_at }],
      started_at,
      finished_at: this.#ctx.clock.now(),
    };
  }
}

/** A restart after its preflight, without an outcome. The draft of a dry run is not stored. */
type Draft = Omit<Restart, "outcome" | "failed">;

function toRefusal(draft: Draft, { reason, detail }: { reason: string; detail: string }): Restart {
  return { ...draft, outcome: "failed", failed: { stage: "preflight", reason, detail } };
}

function toStored(
  draft: Draft,
  checked: RestartPlan | PreflightRefusal,
  request: Pick<
    StoredRestart,
    "peer_id" | "seed" | "seed_from" | "seed_human" | "seed_unverified" | "to_backend"
  >,
): StoredRestart {
  const plan = checked.ok ? checked : undefined;
  return {
    ...draft,
    ...request,
    state: "preflight",
    failed: null,
    tmux_socket: plan?.socket ?? null,
    pane_id: plan?.pane.pane_id ?? null,
    old_pid: plan?.process?.pid ?? null,
    old_started: plan?.process?.started ?? null,
    new_pid: null,
    new_started: null,
    seed_attachments: [],
    from_backend: plan?.subject.backend ?? null,
    from_session: plan?.subject.runtime_session_id ?? null,
    finished_at: null,
  };
}

function toRestart(stored: StoredRestart): Restart {
  const { state, failed } = stored;
  const isFinished = state === "restarted" || state === "failed" || state === "cancelled";
  const shown = { outcome: isFinished ? state : "in_progress", ...(failed && { failed }) } as const;
  const { restart_id, resume_mode, would_run, stages, started_at, finished_at } = stored;
  return { ...shown, restart_id, resume_mode, would_run, stages, started_at, finished_at };
}
