/** A storm on a daemon in memory: seeded verbs, with every invariant checked after each. */

import assert from "node:assert/strict";
import type { DeliveryStep } from "kit/data/events.ts";
import type { AgentPeer } from "../../daemon/features/agents/adapter.ts";
import type { FakeProcesses, World } from "../support/world.ts";
import { Actor, type ReceivedLog } from "./actor.ts";
import { Chance } from "../support/seeded_random.ts";
import type { StormAdapter, TransportEvents } from "./fake_transports.ts";
import { identOf, isHere, type Peer, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { TURNS } from "../support/swift_clock.ts";
import type { StormTmux } from "./tmux.ts";
import { type Answer, DaemonRuns } from "./daemon_runs.ts";
import { HUMAN, SECRET_WORD } from "./texts.ts";

const NAMES = ["ada", "bob", "eve", "tom", "kim"];
/** Agents without a socket; messages reach them by transports. */
const SOCKETLESS_NAMES = ["pat", "liz"];
/** How often the daemon checks whether a process has ended. */
const POLL_MS = 250;
/** How many further commits a verb may cause before the storm gives up. */
const SETTLE_TURNS_MAX = 50;

/** A condition that holds after every step of a storm. */
export interface Invariant {
  readonly name: string;
  /** Throws when the condition fails; `storm.before` is the snapshot before the step. */
  readonly check: (storm: Storm, now: Snapshot) => void | Promise<void>;
}

/** An action of a storm. */
export interface Verb {
  readonly name: string;
  /** How often it is chosen, relative to the other verbs. */
  readonly weight: number;
  readonly run: (storm: Storm) => Promise<unknown>;
}

/** The actions of a storm, and the conditions that always hold. */
export interface StormRules {
  readonly verbs: readonly Verb[];
  readonly invariants: readonly Invariant[];
}

/** A wait in progress, and its ask. */
export interface PendingWait {
  readonly correlation_id: string;
  answer: Answer | undefined;
  error: unknown;
  /** The caller has hung up, or the daemon has stopped. */
  abort: boolean;
}

export class Storm implements AsyncDisposable {
  readonly chance: Chance;
  readonly received = new Map<string, ReceivedLog>();
  readonly actors: readonly Actor[] = NAMES.map((name) => new Actor(name, this.received));
  readonly agents: readonly Actor[] = SOCKETLESS_NAMES.map((name) =>
    new Actor(name, this.received)
  );
  readonly #events: TransportEvents = {
    written: new Set(),
    onWritten: (peer_id, delivery_id, nextText) => {
      this.actors[0]?.received(peer_id).texts.set(delivery_id, nextText);
    },
    onAccepted: (peer_id, delivery_id) => this.receipted(peer_id, delivery_id),
    isReadBy: (at) => this.tmux.reads(at.pane_id ?? "", at.agent_pid, at.agent_started),
    onTyped: (at) => this.#onTyped(at),
  };
  /** How many messages were typed into panes. */
  typed = 0;
  readonly #runs: DaemonRuns;
  /** What the daemon has accepted: the 12 digits of each message, and its text. */
  readonly accepted = new Map<string, string>();
  readonly asks: string[] = [];
  readonly schedules: string[] = [];
  readonly leases: { peer_id: string; drain_id: string; delivery_ids: string[] }[] = [];
  readonly waits: PendingWait[] = [];
  /** The reported close reason of each ask. */
  readonly ended = new Map<string, string>();
  /** Whether retention has removed old rows. */
  hasForgotten = false;
  /** Whether this step ticked. */
  hasTicked = false;
  /** The last event that the reader of the stream has received. */
  last_streamed_event = 0;
  /** The last event that the invariants have checked. */
  last_event = 0;
  before: Snapshot;
  #textCount = 0;
  /** The verbs so far, for the error message. */
  readonly verbNames: string[] = [];

  readonly #rules: StormRules;

  constructor(seed: number, rules: StormRules) {
    this.#rules = rules;
    this.chance = new Chance(seed);
    this.#runs = new DaemonRuns(this.chance, this.#events);
    this.before = takeSnapshot(this.w.daemon);
  }

  get w(): World {
    return this.#runs.w;
  }

  get adapter(): StormAdapter {
    return this.#runs.adapter;
  }

  get tmux(): StormTmux {
    return this.#runs.tmux;
  }

  get processes(): FakeProcesses {
    return this.#runs.processes;
  }

  /** The directory of the database, in which agents are spawned too. */
  get directory(): string {
    return this.#runs.directory;
  }

  /** The state of each delivery according to its reported steps. */
  get steps(): Map<string, string> {
    return this.#runs.steps;
  }

  /** Runs one verb, and checks every invariant. */
  async step(): Promise<void> {
    const verb = this.chance.weighted(this.#rules.verbs);
    this.verbNames.push(verb.name);
    let invariant = "The verb itself";
    this.hasTicked = false;
    try {
      await verb.run(this);
      await settle(this.w);
      const now = takeSnapshot(this.w.daemon);
      for (const { name, check } of this.#rules.invariants) {
        invariant = name;
        await check(this, now);
      }
      this.before = now;
    } catch (error) {
      const verbNames = this.verbNames.slice(-12).join(", ");
      throw new Error(`${invariant}, after: ${verbNames}`, { cause: error });
    }
  }

  actor(): Actor {
    return this.chance.pick([...this.actors, ...this.agents]);
  }

  /** The registration of an actor; agents register in a folder where the daemon may spawn. */
  registrationOf(actor: Actor): { name: string; path: string; backend: string } {
    const location = this.agents.includes(actor)
      ? { path: this.directory, backend: "generic" }
      : { path: "/work", backend: "sdk" };
    return { name: actor.name, ...location };
  }

  /** The name of a peer: mostly an actor, else the human, a stranger or an unknown name. */
  anyPeerName(): string {
    const otherNames = ["stranger", HUMAN, "nobody"];
    return this.chance.oneIn(8) ? this.chance.pick(otherNames) : this.actor().name;
  }

  /** Records that a peer has sent a receipt, by any way. */
  receipted(peer_id: string, delivery_id: string): void {
    for (const actor of this.actors) actor.receipted(peer_id, delivery_id);
  }

  /** A unique text with a rising number. */
  nextText(): string {
    return `${SECRET_WORD} ${String(++this.#textCount).padStart(6, "0")}`;
  }

  /** Posts a body; the answer is never an internal error. */
  async post(path: string, body: unknown = {}, init: RequestInit = {}): Promise<Answer> {
    return await this.#runs.answer(path, { method: "POST", body: JSON.stringify(body), ...init });
  }

  async get(path: string): Promise<Answer> {
    return await this.#runs.answer(path, {});
  }

  async remove(path: string): Promise<Answer> {
    return await this.#runs.answer(path, { method: "DELETE" });
  }

  /** Checks that a message is typed into the pane of its peer, according to the current record. */
  #onTyped({ peer_id, pane_id, tmux_socket, agent_pid, agent_started }: AgentPeer): void {
    this.typed++;
    const peer = this.peer(peer_id);
    assert.ok(peer && isHere(peer), `${pane_id} was typed into for ${peer_id}, who is not here`);
    const location = { pane_id, tmux_socket, agent_pid, agent_started };
    assert.partialDeepStrictEqual(peer, location, `${peer_id} is elsewhere by now`);
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
    await this.w.tick(seconds);
    this.w.daemon.tick(); // The first tick may let a restart end a process: the second one notices.
    await this.w.clock.settle();
    this.hasTicked = true;
  }

  /** The delivery steps reported since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.#runs.takeSteps();
  }

  /** Stops the daemon as an operator does, and starts it again. */
  async restart(): Promise<void> {
    await this.#runs.stop();
    this.#startAgain();
  }

  /**
   * Cuts the power a few turns after `work` has begun: the next run finds only what is on the
   * disk by then. What was answered by then is accepted, and what was written by then is read.
   */
  async crash(work: () => Promise<unknown>): Promise<void> {
    const known = new Map(
      [...this.received].map(([id, { receipted }]) => [id, new Set(receipted)]),
    );
    work().catch(() => undefined); // The run that would answer is over.
    for (let turn = this.chance.below(TURNS); turn > 0; turn--) {
      await new Promise((done) => setImmediate(done));
    }
    const before = this.#runs.cutPower();
    const readingActors = this.actors.filter(() => this.chance.oneIn(2));
    const reads = Promise.all(readingActors.map((actor) => actor.read(this.chance)));
    this.#startAgain();
    forgetLostReceipts(this, known);
    await reads;
    await before[Symbol.asyncDispose]();
  }

  /** What a peer's record says now, also between two snapshots. */
  peer(peer_id: string): Peer | undefined {
    return takeSnapshot(this.w.daemon).peers.get(peer_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runs[Symbol.asyncDispose]();
  }

  #startAgain(): void {
    for (const wait of this.waits) wait.abort = true;
    for (const actor of this.actors) actor.forgetConnection();
    this.leases.length = 0;
    assert.deepEqual(this.w.logged, []);
    this.#runs.start();
  }
}

/** Waits until everything that follows from a verb is on the disk. */
async function settle({ clock, daemon }: World): Promise<void> {
  await clock.settle();
  for (let wait = 0; wait < SETTLE_TURNS_MAX && daemon.ctx.db.whenDurable(); wait++) {
    await clock.settle();
  }
}

/** Forgets the receipts that reached neither the disk nor, before the crash, their sender. */
function forgetLostReceipts(
  { w, received }: Storm,
  known: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  const { byIdent } = takeSnapshot(w.daemon);
  for (const [peer_id, { receipted }] of received) {
    for (const id of receipted) {
      const { state } = byIdent.get(identOf(id)) ?? {};
      const isDurable = state === "accepted" || state === "seen" || known.get(peer_id)?.has(id);
      if (!isDurable) receipted.delete(id);
    }
  }
}
