/** One restart on its way: waits for the turn to end, stops the process, launches, looks for it. */

import type { Context } from "kit/data/context.ts";
import { terminate } from "../../../host/processes.ts";
import type { RestartEvent } from "../machine.ts";
import type { RestartPlan, Subject } from "./preflight.ts";
import type { RestartDeps } from "./deps.ts";
import type { StoredRestart } from "./store.ts";

const POLL_MS = 250;
/** How long a turn may go on before the restart gives up, with nothing touched. */
const QUIESCE_MS_MAX = 60_000;
/** How long a process may take to end by itself, and then by force. */
const TERM_MS_MAX = 10_000;
const KILL_MS_MAX = 5_000;
/** How long the agent may take to register. */
const REGISTER_MS_MAX = 60_000;
/** How long one that nothing registers has to live before we register it ourselves. */
const SETTLE_MS = 3_000;

/** Why a stage failed: `reason` is a code, the message a sentence. */
export class RestartFailure extends Error {
  readonly reason: string;

  constructor(reason: string, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Called off while it waited. */
class RestartCancelled extends Error {}

/** What a walk does to the journal. */
export interface RestartRecords {
  mustGet(restart_id: string): StoredRestart;
  step(restart_id: string, on: RestartEvent, change?: Partial<StoredRestart>): StoredRestart;
  fail(restart_id: string, failure: RestartFailure): void;
  finish(restart_id: string): void;
}

export class RestartRun {
  readonly #ctx: Context;
  readonly #deps: RestartDeps;
  readonly #records: RestartRecords;
  readonly #plan: RestartPlan;
  readonly #restart_id: string;

  constructor(
    ctx: Context,
    deps: RestartDeps,
    records: RestartRecords,
    plan: RestartPlan,
    restart_id: string,
  ) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#records = records;
    this.#plan = plan;
    this.#restart_id = restart_id;
  }

  /** Never throws: what went wrong is in the journal. */
  async run(): Promise<void> {
    const { socket, pane } = this.#plan;
    const { terminals, shutdownSignal } = this.#deps;
    try {
      await this.#ctx.db.whenDurable(); // Nothing is touched before it is on the disk.
      if (!this.#step("checked")) return;
      await this.#quiesce();
      await terminals.keep(socket, pane.pane_id, true);
      await this.#stop();
      await this.#launch();
      await this.#register();
      await terminals.keep(socket, pane.pane_id, false);
      await this.#ctx.db.whenDurable();
    } catch (error) {
      if (shutdownSignal.aborted || error instanceof RestartCancelled) return; // The next start tells the truth.
      this.#fail(error);
      this.#markOldProcessOnline();
      // A dead pane is kept: it shows why. One in which something runs is as it was before.
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
      : new RestartFailure("internal", "A fault of the daemon; its log has the cause");
    try {
      this.#records.fail(this.#restart_id, failure);
    } catch (recordError) {
      log.error("A restart could not be journaled", { error: recordError });
    }
  }

  /** What was not stopped after all is there as before. */
  #markOldProcessOnline(): void {
    const { processes, subject, peers } = this.#deps;
    const { process, subject: { peer_id } } = this.#plan;
    if (!process || !processes.isAlive(process.pid, process.started)) return;
    if (subject(peer_id)?.status === "offline") peers.markSeen(peer_id);
  }

  /** False when it was called off meanwhile. */
  #step(on: RestartEvent, change?: Partial<StoredRestart>): boolean {
    return this.#ctx.db.transact(() => {
      if (this.#records.mustGet(this.#restart_id).finished_at !== null) return false;
      this.#records.step(this.#restart_id, on, change);
      return true;
    });
  }

  /** The turn has ended; from the same instant on nothing more is delivered to the old process. */
  async #quiesce(): Promise<void> {
    const { clock, db } = this.#ctx;
    const { subject: { peer_id }, process } = this.#plan;
    const deadline = clock.now() + QUIESCE_MS_MAX;
    while (process) {
      if (this.#records.mustGet(this.#restart_id).finished_at !== null) {
        throw new RestartCancelled();
      }
      if (!await this.#isWorking()) break;
      if (clock.now() >= deadline) {
        throw new RestartFailure("still_working", "Its turn did not end; nothing was stopped");
      }
      await this.#pause();
    }
    db.transact(() => {
      if (!this.#step("quiet")) throw new RestartCancelled();
      const { status } = this.#deps.subject(peer_id) ?? {};
      if (status === "online" || status === "busy") this.#deps.peers.offline(peer_id, "restart");
    });
    await db.whenDurable();
  }

  /** What can be seen of it decides; else what its hooks said last. */
  async #isWorking(): Promise<boolean> {
    const subject = this.#mustHaveSubject();
    const observation = await this.#deps.adapter(subject.backend ?? "")?.observe(subject);
    const state = observation?.turn_state ?? subject.turn_state;
    return state === "working" || state === "awaiting_input";
  }

  /** The peer as it is now: one that was closed or retired meanwhile is not brought back. */
  #mustHaveSubject(): Subject {
    const subject = this.#deps.subject(this.#plan.subject.peer_id);
    if (!subject) throw new RestartFailure("peer_gone", "The peer was closed meanwhile");
    if (subject.status === "retired") {
      throw new RestartFailure("retired", "It was retired meanwhile");
    }
    return subject;
  }

  /** Its own process and no other: by pid and start time, first asked, then made to end. */
  async #stop(): Promise<void> {
    const { processes, recordReplacement, shutdownSignal } = this.#deps;
    const { process, pane: { pane_id }, subject: { peer_id } } = this.#plan;
    if (!process) return void this.#step("stopped");
    const { pid } = process;
    recordReplacement({ restart_id: this.#restart_id, peer_id, pane_id, agent_pid: pid });
    const limits = { term_ms: TERM_MS_MAX, kill_ms: KILL_MS_MAX };
    const { clock } = this.#ctx;
    const ended = await terminate(process, { ...limits, clock, signal: shutdownSignal, processes });
    if (ended === "forbidden") {
      throw new RestartFailure("not_permitted", `Process ${pid} belongs to another user`);
    }
    if (ended === "alive") throw new RestartFailure("did_not_stop", `Process ${pid} did not end`);
    this.#step("stopped");
  }

  async #launch(): Promise<void> {
    const { terminals, shutdownSignal } = this.#deps;
    const { socket, pane, cwd, command } = this.#plan;
    if (shutdownSignal.aborted) throw new RestartCancelled();
    this.#mustHaveSubject();
    const env = { ...command.env, MESH_RESTART_ID: this.#restart_id };
    const opened = await terminals.respawn(socket, pane, { cwd, argv: command.argv, env });
    if (!opened.ok) throw new RestartFailure("not_launched", `tmux: ${opened.reason}`);
    const new_pid = opened.pane.pane_pid;
    this.#step("launched", {
      new_pid,
      new_started: this.#deps.processes.startTimeOf(new_pid) ?? null,
    });
  }

  /** The same peer is back once it is live as another process than before. */
  async #register(): Promise<void> {
    const { processes, peers, registersItself } = this.#deps;
    const { subject: { peer_id, backend }, process } = this.#plan;
    const { new_pid, new_started } = this.#records.mustGet(this.#restart_id);
    const runs = () =>
      new_pid !== null && new_started !== null && processes.isAlive(new_pid, new_started);
    const isBack = () => {
      const now = this.#mustHaveSubject();
      const live = now.status === "online" || now.status === "busy";
      return live && now.agent_pid !== null && now.agent_pid !== process?.pid;
    };
    const wait_ms = registersItself(backend ?? "") ? REGISTER_MS_MAX : SETTLE_MS;
    await this.#waitUntil(wait_ms, () => isBack() || !runs());
    if (!isBack() && runs() && new_pid !== null && wait_ms === SETTLE_MS) {
      peers.register(peer_id, new_pid);
    }
    if (isBack()) return this.#records.finish(this.#restart_id);
    if (!runs()) {
      throw new RestartFailure("exited", "What was launched ended at once; its pane shows why");
    }
    throw new RestartFailure("not_registered", "It runs, but it has not registered");
  }

  /** Whether it comes true in time. */
  async #waitUntil(ms_max: number, isMet: () => boolean): Promise<boolean> {
    const { clock } = this.#ctx;
    for (const deadline = clock.now() + ms_max; clock.now() < deadline;) {
      if (isMet()) return true;
      await this.#pause();
    }
    return isMet();
  }

  async #pause(): Promise<void> {
    await this.#ctx.clock.sleep(POLL_MS, this.#deps.shutdownSignal);
  }
}
