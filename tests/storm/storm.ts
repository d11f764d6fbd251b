/** A storm over a world in memory: seeded verbs, and after each of them every invariant. */

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
/** Agents without a socket: rungs lead to them. */
const SOCKETLESS_NAMES = ["pat", "liz"];
/** As often as the daemon looks whether a process has ended. */
const POLL_MS = 250;
/** How often a turn may lead to another commit, before something goes round in circles. */
const SETTLE_TURNS_MAX = 50;

/** One thing that holds after every step of a storm. */
export interface Invariant {
  readonly name: string;
  /** Throws when it does not hold; `storm.before` is the picture before the step. */
  readonly check: (storm: Storm, now: Snapshot) => void | Promise<void>;
}

/** One thing that may happen in a storm. */
export interface Verb {
  readonly name: string;
  /** How often it happens, beside the others. */
  readonly weight: number;
  readonly run: (storm: Storm) => Promise<unknown>;
}

/** What may happen, and what always holds. */
export interface StormRules {
  readonly verbs: readonly Verb[];
  readonly invariants: readonly Invariant[];
}

/** A wait that is open, and the ask that it is for. */
export interface PendingWait {
  readonly correlation_id: string;
  answer: Answer | undefined;
  error: unknown;
  /** Whoever waited has hung up, or the daemon went down. */
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
  /** What the daemon has accepted: the 12 digits of each, and its text. */
  readonly accepted = new Map<string, string>();
  readonly asks: string[] = [];
  readonly schedules: string[] = [];
  readonly drains: { peer_id: string; drain_id: string; delivery_ids: string[] }[] = [];
  readonly waits: PendingWait[] = [];
  /** How each ask was told to have ended. */
  readonly ended = new Map<string, string>();
  /** Whether old rows were forgotten, as retention may. */
  hasForgotten = false;
  /** Whether this step was a beat of the heart. */
  hasTicked = false;
  /** The last event that the reader of the stream has taken. */
  last_streamed_event = 0;
  /** The last event that was looked at. */
  last_event = 0;
  before: Snapshot;
  #textCount = 0;
  /** The verbs so far, for whoever has to find out what went wrong. */
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

  /** One verb, and a look at everything. */
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

  /** What an actor says of itself; agents are where the daemon may start them. */
  registrationOf(actor: Actor): { name: string; path: string; backend: string } {
    const location = this.agents.includes(actor)
      ? { path: this.directory, backend: "generic" }
      : { path: "/work", backend: "sdk" };
    return { name: actor.name, ...location };
  }

  /** Somebody by name: an actor mostly, else the human, a stranger or nobody. */
  anyPeerName(): string {
    const otherNames = ["stranger", HUMAN, "nobody"];
    return this.chance.oneIn(8) ? this.chance.pick(otherNames) : this.actor().name;
  }

  /** A peer's word on a delivery has come in, by whatever way. */
  receipted(peer_id: string, delivery_id: string): void {
    for (const actor of this.actors) actor.receipted(peer_id, delivery_id);
  }

  /** A text that nothing else says, with a number that rises. */
  nextText(): string {
    return `${SECRET_WORD} ${String(++this.#textCount).padStart(6, "0")}`;
  }

  /** Posts a body; the answer, which is never a fault of the daemon's. */
  async post(path: string, body: unknown = {}, init: RequestInit = {}): Promise<Answer> {
    return await this.#runs.answer(path, { method: "POST", body: JSON.stringify(body), ...init });
  }

  async get(path: string): Promise<Answer> {
    return await this.#runs.answer(path, {});
  }

  async remove(path: string): Promise<Answer> {
    return await this.#runs.answer(path, { method: "DELETE" });
  }

  /** A message is typed into a pane: into that of its peer, as it is on the record now. */
  #onTyped({ peer_id, pane_id, tmux_socket, agent_pid, agent_started }: AgentPeer): void {
    this.typed++;
    const peer = this.peer(peer_id);
    assert.ok(peer && isHere(peer), `${pane_id} was typed into for ${peer_id}, who is not here`);
    const location = { pane_id, tmux_socket, agent_pid, agent_started };
    assert.partialDeepStrictEqual(peer, location, `${peer_id} is elsewhere by now`);
  }

  /** Lets time pass until something is done that waits for others. */
  async advanceUntilSettled<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const watched = work.finally(() => done = true);
    watched.catch(() => undefined); // It is awaited below.
    while (!done) await this.w.clock.advance(POLL_MS);
    return await watched;
  }

  async tick(seconds = 1): Promise<void> {
    await this.w.tick(seconds);
    this.w.daemon.tick(); // Once more: a restart may have ended a process behind the first one.
    await this.w.clock.settle();
    this.hasTicked = true;
  }

  /** The delivery steps reported since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.#runs.takeSteps();
  }

  /** The daemon stops as an operator stops it, and starts again. */
  async restart(): Promise<void> {
    await this.#runs.stop();
    this.#startAgain();
  }

  /**
   * The power fails, a few turns after `work` has begun: what is on the disk by then is all that
   * the next life finds. What was answered by then is accepted, what was written by then is read.
   */
  async crash(work: () => Promise<unknown>): Promise<void> {
    const known = new Map(
      [...this.received].map(([id, { receipted }]) => [id, new Set(receipted)]),
    );
    work().catch(() => undefined); // The life that would answer is over.
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

  /** What a peer's record says now, between two looks as well. */
  peer(peer_id: string): Peer | undefined {
    return takeSnapshot(this.w.daemon).peers.get(peer_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runs[Symbol.asyncDispose]();
  }

  #startAgain(): void {
    for (const wait of this.waits) wait.abort = true;
    for (const actor of this.actors) actor.forgetConnection();
    this.drains.length = 0;
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
