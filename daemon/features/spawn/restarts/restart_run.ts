/** One restart in progress: waits for the turn to end, stops the process, starts the new one. */

import { recoverableProblem } from "protocol/problems.ts";
import type { Context } from "../../../data/context.ts";
import { terminate } from "../../../host/processes.ts";
import { isOnline } from "../../peers/directory.ts";
import type { StoredPeer } from "../../peers/store.ts";
import type { SpawnDeps } from "../deps.ts";
import type { RestartEvent } from "../states.ts";
import { RestartFailure, type RestartPlan } from "./preflight.ts";
import type { RestartRecords } from "./records.ts";
import { readSubject } from "./replacement.ts";
import type { StoredRestart } from "./store.ts";

const POLL_MS = 250;
/** An agent that no hook has registered yet is linked by its pane every 2 s. */
const POLLS_PER_LINK = 8;
/** Maximum time to wait for the turn's end. Then the restart fails, and nothing is stopped. */
const QUIESCE_MS_MAX = 60_000;
/** Maximum time for a process to end after SIGTERM, and then after SIGKILL. */
const TERM_MS_MAX = 10_000;
const KILL_MS_MAX = 5_000;
/** Maximum time for the agent to register. */
const REGISTER_MS_MAX = 60_000;
/** Time for which an agent without hooks must run before the daemon registers it. */
const SETTLE_MS = 3_000;

/** Thrown when the restart was cancelled or the daemon shuts down. */
class RestartCancelled extends Error {}

/** Makes the first message of another agent, from the work of the present agent. */
export type MakeSeed = () => Promise<Pick<StoredRestart, "seed" | "seed_attachments">>;

interface RunOptions {
  readonly plan: RestartPlan;
  readonly restart_id: string;
  readonly makeSeed: MakeSeed | undefined;
}

export class RestartRun {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  readonly #records: RestartRecords;
  readonly #plan: RestartPlan;
  readonly #restart_id: string;
  readonly #makeSeed: MakeSeed | undefined;

  constructor(ctx: Context, deps: SpawnDeps, records: RestartRecords, options: RunOptions) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#records = records;
    this.#plan = options.plan;
    this.#restart_id = options.restart_id;
    this.#makeSeed = options.makeSeed;
  }

  /** Runs the restart. Never rejects, because a failure is stored with the restart. */
  async run(): Promise<void> {
    const { socket, pane } = this.#plan;
    const { terminals, shutdownSignal } = this.#deps;
    try {
      if (!this.#step("checked")) return;
      await this.#quiesce();
      await terminals.keep(socket, pane.pane_id, true);
      await this.#stop();
      await this.#launch();
      await this.#register();
      await terminals.keep(socket, pane.pane_id, false);
      await this.#ctx.db.whenDurable();
    } catch (error) {
      // After a shutdown, the next start resolves the restart.
      if (shutdownSignal.aborted || error instanceof RestartCancelled) return;
      this.#fail(error);
      this.#markOldProcessOnline();
      // A dead pane is kept, because it shows why the restart failed. A live pane is set to close
      // with its program again.
      if (!await terminals.isGone(socket, pane.pane_id)) {
        await terminals.keep(socket, pane.pane_id, false);
      }
    }
  }

  #fail(error: unknown): void {
    const { log } = this.#ctx;
    if (!(error instanceof RestartFailure)) log.error("A restart failed", { error });
    const failure = error instanceof RestartFailure
      ? error
      : new RestartFailure("internal", "Internal error of the daemon; its log has the cause");
    try {
      this.#ctx.db.failures.repeatUntilStored(() => this.#records.fail(this.#restart_id, failure));
    } catch (recordError) {
      log.error("The failure of a restart was not stored", { error: recordError });
    }
  }

  /** Brings the peer online again, if its old process was not stopped. */
  #markOldProcessOnline(): void {
    const { processes, peers } = this.#deps;
    const { process, subject: { peer_id } } = this.#plan;
    if (!process || !processes.isAlive(process.pid, process.started)) return;
    const now = readSubject(this.#ctx.db, peer_id);
    if (now?.status === "offline") peers.markSeen(peer_id, "process");
  }

  /** Takes a step of the restart. Returns false if the restart was cancelled in the meantime. */
  #step(on: RestartEvent, change?: Partial<StoredRestart>): boolean {
    return this.#ctx.db.transact(() => {
      if (this.#records.mustGet(this.#restart_id).finished_at !== null) return false;
      this.#records.step(this.#restart_id, on, change);
      return true;
    });
  }

  /**
   * Waits for the turn to end, makes the message of another agent, and then takes the peer offline
   * at once, so that its messages wait. If a turn or a session began while the message was made,
   * starts again, because the message would lack it.
   */
  async #quiesce(): Promise<void> {
    const { clock, db } = this.#ctx;
    const { subject: { peer_id } } = this.#plan;
    const deadline = clock.monotonic() + QUIESCE_MS_MAX;
    let from_session: string | null;
    let seed: Awaited<ReturnType<MakeSeed>> | undefined;
    do {
      await this.#waitForEndOfTurn(deadline);
      from_session = this.#mustHaveSubject().runtime_session_id;
      seed = await seedOf(this.#makeSeed);
    } while (seed && await this.#hasGoneOn(from_session));
    db.transact(() => {
      if (!this.#step("quiet", { from_session, ...seed })) throw new RestartCancelled();
      const subject = readSubject(db, peer_id);
      if (!subject || !isOnline(subject)) return;
      const cause = { reason: "restart", source: "daemon", terminal: false };
      this.#deps.peers.offline(peer_id, cause);
    });
    await db.whenDurable();
  }

  async #waitForEndOfTurn(deadline: number): Promise<void> {
    for (;;) {
      if (this.#records.mustGet(this.#restart_id).finished_at !== null) {
        throw new RestartCancelled();
      }
      const isLate = this.#ctx.clock.monotonic() >= deadline;
      const isBusy = this.#plan.process !== undefined &&
        await isWorking(this.#deps, this.#mustHaveSubject());
      if (!isBusy) return;
      if (isLate) {
        throw new RestartFailure("still_working", "Its turn did not end; nothing was stopped");
      }
      await this.#pause();
    }
  }

  /** True if the agent works, or has begun a session other than this. */
  async #hasGoneOn(session: string | null): Promise<boolean> {
    if (this.#plan.process === undefined) return false;
    const works = await isWorking(this.#deps, this.#mustHaveSubject());
    return works || this.#mustHaveSubject().runtime_session_id !== session;
  }

  /** The peer as it is now. Throws if the peer was closed or retired in the meantime. */
  #mustHaveSubject(): StoredPeer {
    const subject = readSubject(this.#ctx.db, this.#plan.subject.peer_id);
    if (!subject) throw new RestartFailure("peer_gone", "The peer was closed meanwhile");
    if (subject.status === "retired") {
      throw new RestartFailure("retired", "The peer was retired meanwhile");
    }
    return subject;
  }

  /** Ends the process that the plan names by pid and start time. */
  async #stop(): Promise<void> {
    const { leases, processes, superseded, shutdownSignal } = this.#deps;
    const { process, pane: { pane_id }, subject: { peer_id } } = this.#plan;
    leases.keepForRestart(this.#restart_id, peer_id);
    if (!process) return this.#stepToLaunch();
    const { pid } = process;
    superseded.add({ restart_id: this.#restart_id, peer_id, pane_id, agent_pid: pid });
    const limits = { term_ms: TERM_MS_MAX, kill_ms: KILL_MS_MAX };
    const { clock } = this.#ctx;
    const ended = await terminate(process, { ...limits, clock, signal: shutdownSignal, processes });
    if (ended === "forbidden") {
      throw new RestartFailure("not_permitted", `Process ${pid} belongs to another user`);
    }
    if (ended === "alive") throw new RestartFailure("did_not_stop", `Process ${pid} did not end`);
    this.#stepToLaunch();
  }

  #stepToLaunch(): void {
    this.#ctx.db.transact(() => {
      if (this.#step("stopped")) this.#records.changeAgent(this.#restart_id);
    });
  }

  async #launch(): Promise<void> {
    const { leases, terminals, shutdownSignal } = this.#deps;
    const { socket, pane, cwd, command: { argv, ...command }, added } = this.#plan;
    if (shutdownSignal.aborted) throw new RestartCancelled();
    this.#mustHaveSubject();
    const env = {
      ...command.env,
      ...leases.environmentOf(this.#restart_id),
      MESH_RESTART_ID: this.#restart_id,
    };
    const opened = await terminals.respawn(socket, pane, { cwd, argv, env, added });
    if (!opened.ok) throw new RestartFailure("not_launched", `tmux: ${opened.reason}`);
    const new_pid = opened.pane.pane_pid;
    leases.bind(this.#restart_id, new_pid);
    const new_started = this.#deps.processes.startTimeOf(new_pid) ?? null;
    this.#step("launched", { new_pid, new_started });
  }

  /** Waits until the peer is live with a new process. */
  async #register(): Promise<void> {
    const { hooks, processes, peers } = this.#deps;
    const { subject: { peer_id }, backend, process } = this.#plan;
    const { new_pid, new_started } = this.#records.mustGet(this.#restart_id);
    const runs = () =>
      new_pid !== null && new_started !== null && processes.isAlive(new_pid, new_started);
    const isBack = () => {
      const now = this.#mustHaveSubject();
      return isOnline(now) && now.agent_pid !== null && now.agent_pid !== process?.pid;
    };
    const wait_ms = hooks[backend] ? REGISTER_MS_MAX : SETTLE_MS;
    await this.#waitUntil(wait_ms, () => isBack() || !runs());
    if (!isBack() && runs() && new_pid !== null && wait_ms === SETTLE_MS) {
      peers.registerRestarted(peer_id, new_pid);
    }
    if (isBack()) return this.#records.finish(this.#restart_id);
    if (!runs()) {
      throw new RestartFailure("exited", "The started program ended at once; its pane shows why");
    }
    throw new RestartFailure("not_registered", "The agent runs, but it has not registered");
  }

  async #waitUntil(ms_max: number, isMet: () => boolean): Promise<void> {
    const { clock } = this.#ctx;
    for (let polls = 0, end = clock.monotonic() + ms_max; clock.monotonic() < end; polls++) {
      if (isMet()) return;
      if (polls % POLLS_PER_LINK === 0) await this.#linkIfSilent();
      await this.#pause();
    }
  }

  /** Registers an agent whose hooks are silent before its first prompt, once it takes messages. */
  async #linkIfSilent(): Promise<void> {
    const { backend, socket: tmux_socket, pane: { pane_id }, subject: { peer_id } } = this.#plan;
    const ids = { spawn_id: this.#restart_id, resumed_peer_id: peer_id };
    await this.#deps.effects.silent({ ...ids, backend, tmux_socket, pane_id });
  }

  async #pause(): Promise<void> {
    await this.#ctx.clock.sleep(POLL_MS, this.#deps.shutdownSignal);
  }
}

/** True if the agent works. If it cannot be observed, the last report of a hook decides. */
async function isWorking({ transports }: SpawnDeps, subject: StoredPeer): Promise<boolean> {
  const observation = await transports.adapterOf(subject.backend)?.observe(subject);
  const state = observation?.turn_state ?? subject.turn_state;
  return state === "working" || state === "awaiting_input";
}

/** The first message of another agent, which is made while nothing is stopped yet. */
async function seedOf(makeSeed: MakeSeed | undefined) {
  try {
    return await makeSeed?.();
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    throw new RestartFailure(refusal.code, `${refusal.toBody().detail}; nothing was stopped`);
  }
}
