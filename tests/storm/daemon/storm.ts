/** A storm on a daemon in memory: seeded verbs, with every invariant checked after each. */

import assert from "node:assert/strict";
import type { DeliveryStep } from "protocol/events.ts";
import type { AgentPeer } from "../../../daemon/features/agents/adapter.ts";
import { Chance } from "../../support/seeded_random.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import type { FakeProcesses, World } from "../../support/world.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";
import * as limitRows from "../../../daemon/features/limits/store.ts";
import type { StoredLimit } from "../../../daemon/features/limits/store.ts";
import { type Answer, DaemonRuns } from "./daemon_runs.ts";
import { STORM_ACCOUNT, type StormAdapter, type TransportEvents } from "./fake_transports.ts";
import { Expectations } from "./expectations.ts";
import { idsOf } from "./given_ids.ts";
import {
  seedOfStep,
  type Simulation,
  type SimulationOptions,
  StepError,
  VERB,
} from "../simulation.ts";
import { isHere, type Peer, type Snapshot, takeSnapshot } from "./snapshot.ts";
import type { StormTmux } from "./tmux.ts";
import { traceRequest, traceStep } from "./trace.ts";

/** Interval at which the daemon checks for ended processes. */
const POLL_MS = 250;
/** Maximum further commits that a verb may cause; then the storm fails. */
const SETTLE_TURNS_MAX = 50;

/** Number of first steps, which are taken from the opening verbs. */
const OPENING_STEPS = 6;

/** A condition that holds after every step of a storm. */
export interface Invariant {
  readonly name: string;
  /** Throws when the condition fails; `storm.before` is the snapshot before the step. */
  readonly check: (storm: Storm, now: Snapshot) => void | Promise<void>;
}

/** An action of a storm. */
export interface Verb {
  readonly name: string;
  /** Weight of the verb, relative to the others. */
  readonly weight: number;
  readonly run: (storm: Storm) => Promise<unknown>;
}

/** The actions of a storm, and the conditions that always hold. */
export interface StormRules {
  /** The first steps of a storm are taken of these, so that the mesh is soon in use. */
  readonly opening: readonly Verb[];
  readonly verbs: readonly Verb[];
  readonly invariants: readonly Invariant[];
}

export interface StormOptions extends SimulationOptions {
  readonly rules: StormRules;
}

export class Storm extends Expectations implements Simulation {
  readonly chance: Chance;
  readonly faults = new SqliteFaults();
  readonly uncaught = new UncaughtErrors();
  readonly runs: DaemonRuns;
  readonly #events: TransportEvents = {
    written: new Set(),
    onWritten: (peer_id, delivery_id, nextText) => {
      this.actors[0]?.receivedLog(peer_id).texts.set(delivery_id, nextText);
    },
    onAccepted: (peer_id, delivery_id) => this.recordReceipt(peer_id, delivery_id),
    isReadBy: (at) => this.tmux.reads(at.pane_id ?? "", at.agent_pid, at.agent_started),
    onTyped: (at) => this.#onTyped(at),
    mayGo: (delivery_id) => this.#mayGo(delivery_id),
  };
  /** Number of messages typed into panes. */
  typed = 0;
  before: Snapshot;
  /** The start of this step: its time, the last event, and the limit of the account. */
  start: { at: number; event_id: number; limit: StoredLimit | undefined };
  /** The peers whose turn was reported to have ended well in this step. */
  readonly goodTurns = new Set<string>();
  /** The number and the name of each verb so far. */
  readonly verbNames: string[] = [];
  readonly #options: StormOptions;

  constructor(options: StormOptions) {
    super();
    this.#options = options;
    const chance = this.chance = new Chance(options.seed);
    this.runs = new DaemonRuns({ chance, events: this.#events, faults: this.faults });
    this.before = takeSnapshot(this.w.daemon);
    this.ids = idsOf(this.w.daemon);
    this.start = this.#startNow();
  }

  get w(): World {
    return this.runs.w;
  }

  get adapter(): StormAdapter {
    return this.runs.adapter;
  }

  get tmux(): StormTmux {
    return this.runs.tmux;
  }

  get processes(): FakeProcesses {
    return this.runs.processes;
  }

  /** The deliveries whose bytes a transport has written. */
  get writtenDeliveries(): Set<string> {
    return this.#events.written;
  }

  /** The directory in which agents are spawned and files are stored. */
  get directory(): string {
    return this.runs.directory;
  }

  /** The state of each delivery according to its reported steps. */
  get steps(): Map<string, string> {
    return this.runs.steps;
  }

  /**
   * Runs one verb, and checks every invariant. The verb and its chances depend on the seed and the
   * number alone, so that a storm can leave out steps.
   */
  async step(number: number): Promise<void> {
    const { seed, rules, trace } = this.#options;
    this.chance.restart(seedOfStep(seed, number));
    const verb = this.chance.weighted(number <= OPENING_STEPS ? rules.opening : rules.verbs);
    let invariant = VERB;
    this.hasTicked = false;
    this.faults.reset();
    this.markStart();
    this.verbNames.push(`${number}. ${verb.name}`);
    trace?.(`${number}. ${verb.name}`);
    try {
      await verb.run(this);
      await this.settle();
      this.faults.disarm();
      const now = takeSnapshot(this.w.daemon);
      for (const { name, check } of rules.invariants) {
        invariant = name;
        await check(this, now);
      }
      if (trace) traceStep(this, now, trace);
      this.before = now;
    } catch (error) {
      throw new StepError({ number, invariant, verbNames: this.verbNames }, error);
    }
  }

  /** Marks the start of a step, or of the part of it that invariants of limits check. */
  markStart(): void {
    this.start = this.#startNow();
    this.goodTurns.clear();
  }

  #startNow() {
    const event_id = this.w.daemon.ctx.events.last;
    return { at: this.w.clock.now(), event_id, limit: this.limitOfAccount() };
  }

  /** Waits until everything that follows from a verb is on the disk. */
  async settle(): Promise<void> {
    const { clock, daemon: { ctx: { db } } } = this.w;
    await clock.settle();
    for (let wait = 0; wait < SETTLE_TURNS_MAX; wait++) {
      const durable = db.whenDurable();
      if (!durable) return;
      durable.catch(() => undefined); // Its writers get the error, too.
      await clock.settle();
    }
  }

  /** Posts a body; the answer is no internal error. */
  async post(path: string, body: unknown = {}, init: RequestInit = {}): Promise<Answer> {
    const [, peer_id] = /^\/peers\/(.+)\/turn$/.exec(path) ?? [];
    if (peer_id !== undefined && isGoodEnd(body)) this.goodTurns.add(peer_id);
    return await this.#answer(path, { method: "POST", body: JSON.stringify(body), ...init });
  }

  async get(path: string): Promise<Answer> {
    return await this.#answer(path, {});
  }

  async remove(path: string): Promise<Answer> {
    return await this.#answer(path, { method: "DELETE" });
  }

  /** Checks that a message is typed into the pane of its peer, according to the current record. */
  #onTyped({ peer_id, pane_id, tmux_socket, agent_pid, agent_started }: AgentPeer): void {
    this.typed++;
    const peer = this.peer(peer_id);
    assert.ok(peer && isHere(peer), `${pane_id} was typed into for ${peer_id}, who is not here`);
    const location = { pane_id, tmux_socket, agent_pid, agent_started };
    assert.partialDeepStrictEqual(peer, location, `${peer_id} is elsewhere by now`);
  }

  /** The limit of the account that all agents of the storm share, unless it is clear. */
  limitOfAccount(): StoredLimit | undefined {
    return limitRows.all(this.w.daemon.ctx.db)
      .find(({ account, state }) => account === STORM_ACCOUNT && state !== "clear");
  }

  /** Checks that a message to an agent is held by no limit, or is the probe. */
  #mayGo(delivery_id: string): void {
    const { state, probe_id } = this.limitOfAccount() ?? {};
    if (state === undefined) return;
    assert.equal(state, "probing", `${delivery_id} went to an account that is ${state}`);
    assert.equal(probe_id, delivery_id, `${delivery_id} went beside the probe`);
  }

  /** Advances the clock until `work` has settled. */
  async advanceUntilSettled<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const watched = work.finally(() => done = true);
    watched.catch(() => undefined); // Its caller awaits it below.
    while (!done) await this.w.clock.advance(POLL_MS);
    return await watched;
  }

  async tick(seconds = 1): Promise<void> {
    const { w } = this;
    await w.clock.advance(seconds * 1000);
    for (let tick = 0; tick < 2; tick++) { // A restart ends a process; the next tick notices.
      if (this.w !== w) return; // The daemon has lost its power.
      this.tickOnce();
      await this.w.clock.settle();
    }
    this.hasTicked = !this.faults.hit;
  }

  /** Ticks as the scheduler does, which goes on after a tick that failed for the disk. */
  tickOnce(): void {
    try {
      this.w.daemon.tick();
    } catch (error) {
      if (!this.faults.hit) throw error;
    }
  }

  /** The delivery steps reported since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.runs.takeSteps();
  }

  /** Stops the daemon as an operator does, and starts it again. */
  async restart(): Promise<void> {
    await this.runs.stop();
    this.startAgain();
  }

  /** Starts a daemon on what is on the disk. The clients of the last one have lost it. */
  startAgain(): void {
    for (const wait of this.waits) wait.abort = true;
    for (const actor of this.actors) actor.forgetConnection();
    this.leases.length = 0;
    this.checkLog();
    this.runs.start();
  }

  /** Only failures of a step with a failed statement were logged. */
  checkLog(): void {
    const logged = this.w.logged.splice(0);
    if (!this.faults.hit) assert.deepEqual(logged, []);
  }

  /** The current record of a peer, also between two snapshots. */
  peer(peer_id: string): Peer | undefined {
    return takeSnapshot(this.w.daemon).peers.get(peer_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.faults[Symbol.dispose]();
    this.uncaught[Symbol.dispose]();
    await this.runs[Symbol.asyncDispose]();
  }

  async #answer(path: string, init: RequestInit): Promise<Answer> {
    const answer = await this.runs.answer(path, init);
    const { trace } = this.#options;
    if (trace) traceRequest(this, [init.method ?? "GET", path, init.body, answer], trace);
    return answer;
  }
}

/** True for the report of a turn that ended well. */
function isGoodEnd(body: unknown): boolean {
  const { turn_state, error }: { turn_state?: unknown; error?: unknown } = Object(body);
  return turn_state === "idle" && error === undefined;
}
