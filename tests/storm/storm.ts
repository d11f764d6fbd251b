/** A storm over a world in memory: seeded verbs, and after each of them every invariant. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { DeliveryStep } from "kit/data/events.ts";
import type { Addressee } from "../../daemon/features/agents/adapter.ts";
import { countingIds } from "../support/ids.ts";
import { FakeProcesses, type World, world } from "../support/world.ts";
import { Actor, type Heard } from "./actor.ts";
import { Chance } from "../support/seeded_random.ts";
import { type Carried, Ladder } from "./fake_transports.ts";
import { identOf, isHere, look, type Peer, type Picture } from "./snapshot.ts";
import { SwiftClock, TURNS } from "../support/swift_clock.ts";
import { StormTerminals, StormTmux } from "./tmux.ts";
import { HUMAN, WORD } from "./texts.ts";

const NAMES = ["ada", "bob", "eve", "tom", "kim"];
/** Agents without a socket: rungs lead to them. */
const AGENTS = ["pat", "liz"];
const SETTINGS = {
  "human.name": HUMAN,
  "spawn.commands": JSON.stringify({ generic: ["agent"] }),
  "daemon.queue.max_per_peer": "130",
  "daemon.limits.pair_per_minute": "0",
  "daemon.history_days": "3650", // Nothing may be missing for its age.
};
/** As often as the daemon looks whether a process has ended. */
const LOOK_MS = 250;
/** How often a turn may lead to another commit, before something goes round in circles. */
const RESTS_MAX = 50;

/** One thing that holds after every step of a storm. */
export interface Invariant {
  readonly name: string;
  /** Throws when it does not hold; `storm.before` is the picture before the step. */
  readonly check: (storm: Storm, now: Picture) => void | Promise<void>;
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
export interface Wait {
  readonly correlation_id: string;
  answer: Answer | undefined;
  fault: unknown;
  /** Whoever waited has hung up, or the daemon went down. */
  gone: boolean;
}

export interface Answer {
  readonly http: number;
  readonly [field: string]: unknown;
}

export class Storm implements AsyncDisposable {
  readonly chance: Chance;
  readonly heard = new Map<string, Heard>();
  readonly actors: readonly Actor[] = NAMES.map((name) => new Actor(name, this.heard));
  readonly agents: readonly Actor[] = AGENTS.map((name) => new Actor(name, this.heard));
  readonly #carried: Carried = {
    out: new Set(),
    heard: (peer_id, delivery_id, words) => {
      this.actors[0]?.heard(peer_id).texts.set(delivery_id, words);
    },
    accepted: (peer_id, delivery_id) => this.settled(peer_id, delivery_id),
    reads: (at) => this.tmux.reads(at.pane_id ?? "", at.agent_pid, at.agent_started),
    entered: (at) => this.#enter(at),
  };
  /** How many messages were typed into panes. */
  typed = 0;
  ladder!: Ladder;
  /** What the daemon has accepted: the 12 digits of each, and its text. */
  readonly accepted = new Map<string, string>();
  readonly asks: string[] = [];
  readonly schedules: string[] = [];
  readonly drains: { peer_id: string; drain_id: string; delivery_ids: string[] }[] = [];
  readonly waits: Wait[] = [];
  /** How each ask was told to have ended. */
  readonly ended = new Map<string, string>();
  /** The state of each delivery, as the live steps tell it. */
  steps = new Map<string, string>();
  /** Whether old rows were forgotten, as retention may. */
  forgot = false;
  /** Whether this step was a beat of the heart. */
  beaten = false;
  /** The last event that the reader of the stream has taken. */
  followed = 0;
  /** The last event that was looked at. */
  last_event = 0;
  before: Picture;
  w: World;
  /** Where the database is, and where agents are spawned. */
  readonly directory = Deno.makeTempDirSync({ prefix: "mesh-storm-" });
  readonly #shared = {
    clock: new SwiftClock(),
    ids: countingIds(),
    processes: new FakeProcesses(),
  };
  readonly tmux: StormTmux;
  #terminals!: StormTerminals;
  #lives = 0;
  /** Live steps that were heard since the last look. */
  #heard_steps: DeliveryStep[] = [];
  #said = 0;
  /** The verbs so far, for whoever has to find out what went wrong. */
  readonly story: string[] = [];

  readonly #rules: StormRules;

  constructor(seed: number, rules: StormRules) {
    this.#rules = rules;
    this.chance = new Chance(seed);
    this.tmux = new StormTmux(this.#shared.processes, this.chance);
    this.w = this.#start();
    this.before = look(this.w.daemon);
  }

  /** One verb, and a look at everything. */
  async step(): Promise<void> {
    const verb = this.chance.weighted(this.#rules.verbs);
    this.story.push(verb.name);
    let invariant = "The verb itself";
    this.beaten = false;
    try {
      await verb.run(this);
      await this.#rest();
      const now = look(this.w.daemon);
      for (const { name, check } of this.#rules.invariants) {
        invariant = name;
        await check(this, now);
      }
      this.before = now;
    } catch (fault) {
      const story = this.story.slice(-12).join(", ");
      throw new Error(`${invariant}, after: ${story}`, { cause: fault });
    }
  }

  actor(): Actor {
    return this.chance.pick([...this.actors, ...this.agents]);
  }

  /** What an actor says of itself; agents are where the daemon may start them. */
  selfOf(actor: Actor): { name: string; path: string; backend: string } {
    const place = this.agents.includes(actor)
      ? { path: this.directory, backend: "generic" }
      : { path: "/work", backend: "sdk" };
    return { name: actor.name, ...place };
  }

  /** Somebody by name: an actor mostly, else the human, a stranger or nobody. */
  somebody(): string {
    const odd = ["stranger", HUMAN, "nobody"];
    return this.chance.oneIn(8) ? this.chance.pick(odd) : this.actor().name;
  }

  /** A peer's word on a delivery has come in, by whatever way. */
  settled(peer_id: string, delivery_id: string): void {
    for (const actor of this.actors) actor.settled(peer_id, delivery_id);
  }

  /** A text that nothing else says, with a number that rises. */
  words(): string {
    return `${WORD} ${String(++this.#said).padStart(6, "0")}`;
  }

  /** Posts a body; the answer, which is never a fault of the daemon's. */
  async post(path: string, body: unknown = {}, init: RequestInit = {}): Promise<Answer> {
    return await this.#answer(path, { method: "POST", body: JSON.stringify(body), ...init });
  }

  async get(path: string): Promise<Answer> {
    return await this.#answer(path, {});
  }

  async remove(path: string): Promise<Answer> {
    return await this.#answer(path, { method: "DELETE" });
  }

  /** A message is typed into a pane: into that of its peer, as it is on the record now. */
  #enter({ peer_id, pane_id, tmux_socket, agent_pid, agent_started }: Addressee): void {
    this.typed++;
    const peer = this.peer(peer_id);
    assert.ok(peer && isHere(peer), `${pane_id} was typed into for ${peer_id}, who is not here`);
    const place = { pane_id, tmux_socket, agent_pid, agent_started };
    assert.partialDeepStrictEqual(peer, place, `${peer_id} is elsewhere by now`);
  }

  /** Lets time pass until something is done that waits for others. */
  async passing<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const watched = work.finally(() => over = true);
    watched.catch(() => undefined); // It is awaited below.
    while (!over) await this.w.clock.advance(LOOK_MS);
    return await watched;
  }

  async beat(seconds = 1): Promise<void> {
    await this.w.beat(seconds);
    this.w.daemon.beat(); // Once more: a restart may have ended a process behind the first one.
    await this.w.clock.settle();
    this.beaten = true;
  }

  /** The live steps since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.#heard_steps.splice(0);
  }

  /** The daemon stops as an operator stops it, and starts again. */
  async restart(): Promise<void> {
    let over = false;
    const ending = this.w[Symbol.asyncDispose]().finally(() => over = true);
    while (!over) {
      this.ladder.hurry(); // A daemon that stops waits for what is under way.
      await this.w.clock.settle();
    }
    await ending;
    this.#begin();
  }

  /**
   * The power fails, a few turns after `work` has begun: what is on the disk by then is all that
   * the next life finds. What was answered by then is accepted, what was written by then is read.
   */
  async crash(work: () => Promise<unknown>): Promise<void> {
    const known = new Map([...this.heard].map(([id, { settled }]) => [id, new Set(settled)]));
    work().catch(() => undefined); // The life that would answer is over.
    for (let turn = this.chance.below(TURNS); turn > 0; turn--) {
      await new Promise((done) => setImmediate(done));
    }
    const from = this.#path();
    this.#lives++;
    for (const part of ["", "-wal"]) Deno.copyFileSync(`${from}${part}`, `${this.#path()}${part}`);
    this.ladder.end();
    this.#terminals.end();
    const alert = this.actors.filter(() => this.chance.oneIn(2));
    const reading = Promise.all(alert.map((actor) => actor.read(this.chance)));
    for (const wait of this.waits) wait.gone = true;
    const before = this.w;
    this.#begin();
    this.#forget(known);
    await reading;
    await before[Symbol.asyncDispose]();
  }

  get processes(): FakeProcesses {
    return this.#shared.processes;
  }

  /** What a peer's record says now, between two looks as well. */
  peer(peer_id: string): Peer | undefined {
    return look(this.w.daemon).peers.get(peer_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ladder.end();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.directory, { recursive: true });
  }

  async #answer(path: string, init: RequestInit): Promise<Answer> {
    const life = this.#lives;
    const response = await this.w.fetch(path, init);
    const { status } = response;
    const answer = await response.json();
    if (life !== this.#lives) throw new Error("Nobody hears what a former life answers");
    const full = status === 502 && answer.error === "spawn_failed"; // All pids are taken.
    assert.ok(status < 500 || full, `${path} answers ${status}: ${JSON.stringify(answer)}`);
    return { ...answer, http: status };
  }

  /** Until all that followed from a verb is on the disk, and nothing more follows. */
  async #rest(): Promise<void> {
    const { clock, daemon } = this.w;
    await clock.settle();
    for (let wait = 0; wait < RESTS_MAX && daemon.ground.db.durable(); wait++) await clock.settle();
  }

  /** Words of clients that had not reached the disk are as if they were never said. */
  #forget(known: ReadonlyMap<string, ReadonlySet<string>>): void {
    const { byIdent } = look(this.w.daemon);
    for (const [peer_id, { settled }] of this.heard) {
      for (const id of settled) {
        const { state } = byIdent.get(identOf(id)) ?? {};
        const stands = state === "accepted" || state === "seen" || known.get(peer_id)?.has(id);
        if (!stands) settled.delete(id);
      }
    }
  }

  #begin(): void {
    for (const wait of this.waits) wait.gone = true;
    for (const actor of this.actors) actor.cut();
    this.drains.length = 0;
    assert.deepEqual(this.w.logged, []);
    this.w = this.#start();
  }

  #start(): World {
    const ladder = this.ladder = new Ladder(this.chance, this.#carried);
    const terminals = this.#terminals = new StormTerminals(this.tmux);
    const settings = { ...SETTINGS, "spawn.allowed_paths": JSON.stringify([this.directory]) };
    const options = { settings, db_path: this.#path(), adapters: [ladder], terminals };
    const w = world({ ...this.#shared, ...options, sights: this.tmux });
    const steps: DeliveryStep[] = this.#heard_steps = [];
    w.daemon.ground.events.subscribe({ delivery: (step) => void steps.push(step) });
    this.steps = new Map(look(w.daemon).messages.map(({ ident, state }) => [ident, state]));
    return w;
  }

  #path(): string {
    return join(this.directory, `mesh-${this.#lives}.db`);
  }
}
