/** One restart on its way: waits for the turn to end, stops the process, launches, looks for it. */

import type { Ground } from "kit/data/context.ts";
import { terminate } from "../../../host/processes.ts";
import type { RestartEvent } from "../machine.ts";
import type { Plan, Subject } from "./preflight.ts";
import type { RestartNeeds } from "./deps.ts";
import type { Journal } from "./store.ts";

const LOOK_MS = 250;
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
export class Failure extends Error {
  readonly reason: string;

  constructor(reason: string, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Called off while it waited. */
class CalledOff extends Error {}

/** What a walk does to the journal. */
export interface Desk {
  mustGet(restart_id: string): Journal;
  step(restart_id: string, on: RestartEvent, change?: Partial<Journal>): Journal;
  fail(restart_id: string, failure: Failure): void;
  finish(restart_id: string): void;
}

export class Walk {
  readonly #ground: Ground;
  readonly #needs: RestartNeeds;
  readonly #desk: Desk;
  readonly #plan: Plan;
  readonly #restart_id: string;

  constructor(
    ground: Ground,
    needs: RestartNeeds,
    desk: Desk,
    plan: Plan,
    restart_id: string,
  ) {
    this.#ground = ground;
    this.#needs = needs;
    this.#desk = desk;
    this.#plan = plan;
    this.#restart_id = restart_id;
  }

  /** Never throws: what went wrong is in the journal. */
  async run(): Promise<void> {
    const { socket, pane } = this.#plan;
    const { terminals, ending } = this.#needs;
    try {
      await this.#ground.db.durable(); // Nothing is touched before it is on the disk.
      if (!this.#step("checked")) return;
      await this.#quiesce();
      await terminals.keep(socket, pane.pane_id, true);
      await this.#stop();
      await this.#launch();
      await this.#register();
      await terminals.keep(socket, pane.pane_id, false);
      await this.#ground.db.durable();
    } catch (fault) {
      if (ending.aborted || fault instanceof CalledOff) return; // The next start tells the truth.
      this.#fail(fault);
      this.#back();
      // A dead pane is kept: it shows why. One in which something runs is as it was before.
      if (!await terminals.isGone(socket, pane.pane_id)) {
        await terminals.keep(socket, pane.pane_id, false);
      }
    }
  }

  #fail(fault: unknown): void {
    const { log } = this.#ground;
    if (!(fault instanceof Failure)) log.error("A restart failed", { fault });
    const why = fault instanceof Failure
      ? fault
      : new Failure("internal", "A fault of the daemon; its log has the cause");
    try {
      this.#desk.fail(this.#restart_id, why);
    } catch (worse) {
      log.error("A restart could not be journaled", { fault: worse });
    }
  }

  /** What was not stopped after all is there as before. */
  #back(): void {
    const { processes, subject, peers } = this.#needs;
    const { process, subject: { peer_id } } = this.#plan;
    if (!process || !processes.isAlive(process.pid, process.started)) return;
    if (subject(peer_id)?.status === "offline") peers.sighted(peer_id);
  }

  /** False when it was called off meanwhile. */
  #step(on: RestartEvent, change?: Partial<Journal>): boolean {
    return this.#ground.db.transact(() => {
      if (this.#desk.mustGet(this.#restart_id).finished_at !== null) return false;
      this.#desk.step(this.#restart_id, on, change);
      return true;
    });
  }

  /** The turn has ended; from the same instant on nothing more is delivered to the old process. */
  async #quiesce(): Promise<void> {
    const { clock, db } = this.#ground;
    const { subject: { peer_id }, process } = this.#plan;
    const deadline = clock.now() + QUIESCE_MS_MAX;
    while (process) {
      if (this.#desk.mustGet(this.#restart_id).finished_at !== null) throw new CalledOff();
      if (!await this.#isWorking()) break;
      if (clock.now() >= deadline) {
        throw new Failure("still_working", "Its turn did not end; nothing was stopped");
      }
      await this.#pause();
    }
    db.transact(() => {
      if (!this.#step("quiet")) throw new CalledOff();
      const { status } = this.#needs.subject(peer_id) ?? {};
      if (status === "online" || status === "busy") this.#needs.peers.offline(peer_id, "restart");
    });
    await db.durable();
  }

  /** What can be seen of it decides; else what its hooks said last. */
  async #isWorking(): Promise<boolean> {
    const subject = this.#mustBeWanted();
    const seen = await this.#needs.adapter(subject.backend ?? "")?.sight(subject);
    const state = seen?.turn_state ?? subject.turn_state;
    return state === "working" || state === "awaiting_input";
  }

  /** The peer as it is now: one that was closed or retired meanwhile is not brought back. */
  #mustBeWanted(): Subject {
    const subject = this.#needs.subject(this.#plan.subject.peer_id);
    if (!subject) throw new Failure("peer_gone", "The peer was closed meanwhile");
    if (subject.status === "retired") throw new Failure("retired", "It was retired meanwhile");
    return subject;
  }

  /** Its own process and no other: by pid and start time, first asked, then made to end. */
  async #stop(): Promise<void> {
    const { processes, replaced, ending } = this.#needs;
    const { process, pane: { pane_id }, subject: { peer_id } } = this.#plan;
    if (!process) return void this.#step("stopped");
    const { pid } = process;
    replaced({ restart_id: this.#restart_id, peer_id, pane_id, agent_pid: pid });
    const limits = { term_ms: TERM_MS_MAX, kill_ms: KILL_MS_MAX };
    const { clock } = this.#ground;
    const ended = await terminate(process, { ...limits, clock, signal: ending, processes });
    if (ended === "forbidden") {
      throw new Failure("not_permitted", `Process ${pid} belongs to another user`);
    }
    if (ended === "alive") throw new Failure("did_not_stop", `Process ${pid} did not end`);
    this.#step("stopped");
  }

  async #launch(): Promise<void> {
    const { terminals, ending } = this.#needs;
    const { socket, pane, cwd, command } = this.#plan;
    if (ending.aborted) throw new CalledOff();
    this.#mustBeWanted();
    const env = { ...command.env, MESH_RESTART_ID: this.#restart_id };
    const opened = await terminals.respawn(socket, pane, { cwd, argv: command.argv, env });
    if (!opened.ok) throw new Failure("not_launched", `tmux: ${opened.reason}`);
    const new_pid = opened.pane.pane_pid;
    this.#step("launched", {
      new_pid,
      new_started: this.#needs.processes.startOf(new_pid) ?? null,
    });
  }

  /** The same peer is back once it is live as another process than before. */
  async #register(): Promise<void> {
    const { processes, peers, registersItself } = this.#needs;
    const { subject: { peer_id, backend }, process } = this.#plan;
    const { new_pid, new_started } = this.#desk.mustGet(this.#restart_id);
    const runs = () =>
      new_pid !== null && new_started !== null && processes.isAlive(new_pid, new_started);
    const isBack = () => {
      const now = this.#mustBeWanted();
      const live = now.status === "online" || now.status === "busy";
      return live && now.agent_pid !== null && now.agent_pid !== process?.pid;
    };
    const alone = registersItself(backend ?? "") ? REGISTER_MS_MAX : SETTLE_MS;
    await this.#within(alone, () => isBack() || !runs());
    if (!isBack() && runs() && new_pid !== null && alone === SETTLE_MS) {
      peers.register(peer_id, new_pid);
    }
    if (isBack()) return this.#desk.finish(this.#restart_id);
    if (!runs()) throw new Failure("exited", "What was launched ended at once; its pane shows why");
    throw new Failure("not_registered", "It runs, but it has not registered");
  }

  /** Whether it comes true in time. */
  async #within(ms_max: number, isSo: () => boolean): Promise<boolean> {
    const { clock } = this.#ground;
    for (const deadline = clock.now() + ms_max; clock.now() < deadline;) {
      if (isSo()) return true;
      await this.#pause();
    }
    return isSo();
  }

  async #pause(): Promise<void> {
    await this.#ground.clock.sleep(LOOK_MS, this.#needs.ending);
  }
}
