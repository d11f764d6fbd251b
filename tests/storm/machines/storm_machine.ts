/** A machine of a storm: its daemon starts, stops and loses its power, on one disk. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { randomIds } from "kit/core/clock.ts";
import { Machines } from "../../../daemon/machines/machines.ts";
import { makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import { makeNetworkSecret, networkKeysOf } from "../../../daemon/machines/trust/network.ts";
import { filesIn } from "../../../daemon/host/files.ts";
import type { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";
import { makeMemoryDir, migratedImage } from "../../support/migrated.ts";
import type { Chance } from "../../support/seeded_random.ts";
import type { SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import { type World, world } from "../../support/world.ts";
import { Actor, type ReceivedLog } from "../daemon/actor.ts";
import type { Answer } from "../daemon/daemon_runs.ts";
import { StormAdapter, type TransportEvents } from "../daemon/fake_transports.ts";
import { DatabaseFiles, type DatabaseImage } from "../database_files.ts";
import { SkewedClock } from "../../support/machines/skewed_clock.ts";
import { type Row, rowsOf } from "./rows.ts";
import type { StormBus } from "./storm_bus.ts";

const URL = "nats://127.0.0.1:4222";
const LIMITS = {
  "daemon.queue.max_per_peer": "1000",
  "daemon.limits.pair_per_minute": "0",
  "daemon.history_days": "3650", // No row may be removed for its age.
};
/** The keys differ in each process, and nothing that a storm shows depends on them. */
const NETWORK = networkKeysOf(makeNetworkSecret(randomIds));
const KEYS = [0, 1, 2].map(() => makeMachineKeys(randomIds));

/** Errors, and refused entries of kinds that are never refused. */
const WRONG = /"level":"error"|was refused.*"kind":"(step|late)"/;

export interface MachinePlan {
  readonly number: number;
  readonly name: string;
  /** Peers with a socket, and peers that an adapter reaches. */
  readonly actors: readonly string[];
  readonly agents: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** True if it reuses numbers after a restore, as daemons of earlier versions did. */
  readonly repeatsNumbers?: boolean;
}

export interface MachineDeps {
  readonly chance: Chance;
  readonly clock: FakeClock;
  readonly bus: StormBus;
  readonly faults: SqliteFaults;
}

/** A wait in progress, and its ask. */
export interface PendingWait {
  readonly id: string;
  answer: Answer | undefined;
  error: unknown;
  isOver: boolean;
}

export class StormMachine implements AsyncDisposable {
  readonly name: string;
  readonly clock: SkewedClock;
  readonly received = new Map<string, ReceivedLog>();
  readonly actors: readonly Actor[];
  readonly agents: readonly Actor[];
  w!: World;
  adapter!: StormAdapter;
  /** Messages that its daemon has accepted: the 12 digits of each id, and the text. */
  readonly accepted = new Map<string, string>();
  /** The answers that its daemon has accepted, by the 12 digits of the ask. */
  readonly answered = new Map<string, string>();
  readonly waits: PendingWait[] = [];
  readonly repeatsNumbers: boolean;
  /** The rows after the last step, by the 12 digits of their ids. */
  before: ReadonlyMap<string, Row> = new Map();
  /** The rows that the invariants check. */
  now: readonly Row[] = [];
  readonly #plan: MachinePlan;
  readonly #deps: MachineDeps;
  readonly #ids;
  readonly #root = makeMemoryDir("mesh-storm-");
  readonly #events: TransportEvents = {
    written: new Set(),
    onWritten: (peer_id, id, text) => void this.actors[0]?.receivedLog(peer_id).texts.set(id, text),
    onAccepted: (peer_id, id) => this.recordReceipt(peer_id, id),
    isReadBy: () => true,
    onTyped: () => undefined,
    mayGo: () => undefined,
  };
  #run = 0;
  #copies = 0;

  constructor(plan: MachinePlan, deps: MachineDeps) {
    this.#plan = plan;
    this.#deps = deps;
    this.name = plan.name;
    this.clock = new SkewedClock(deps.clock);
    this.actors = plan.actors.map((name) => new Actor(name, this.received));
    this.agents = plan.agents.map((name) => new Actor(name, this.received));
    this.repeatsNumbers = plan.repeatsNumbers ?? true;
    const distance = (max: number) => this.repeatsNumbers ? 1 : 1 + deps.chance.below(max);
    this.#ids = { ...countingIds(plan.number * 1_000_000), distance };
    this.files.write({ main: migratedImage() });
    this.start();
  }

  get daemon_id(): string {
    return this.w.daemon.identity.daemon_id;
  }

  get files(): DatabaseFiles {
    return new DatabaseFiles(join(this.#root, `mesh-${this.#run}.db`));
  }

  /** The number of its run, which a power cut ends. */
  get run(): number {
    return this.#run;
  }

  /** Starts a daemon on the disk as it is. The clients of the last one have lost it. */
  start(): void {
    const { number, name, settings } = this.#plan;
    const { chance, bus } = this.#deps;
    for (const actor of this.actors) actor.forgetConnection();
    for (const wait of this.waits) wait.isOver = true;
    this.adapter = new StormAdapter(chance, this.#events);
    const keys = KEYS[number];
    assert.ok(keys);
    this.w = world({
      clock: this.clock,
      ids: this.#ids,
      db_path: this.files.path,
      adapters: [this.adapter],
      files: filesIn(join(this.#root, "files")),
      settings: { "mesh.bus.url": URL, "mesh.bus.allow": '["*"]', ...LIMITS, ...settings },
      machines: {
        membership: { name, url: URL },
        access: {
          keys,
          network: NETWORK,
          place: name,
          open: (id, listener) => bus.open(id, listener),
        },
        open: (ctx, deps) => new Machines(ctx, deps),
      },
    });
  }

  /**
   * Starts a daemon on a copy of the disk, like a virtual machine that is started twice. The result
   * can run it, has the outcome of its connection, and can end it.
   */
  startCopy() {
    const { number, name, settings } = this.#plan;
    const { bus } = this.#deps;
    const keys = KEYS[number];
    assert.ok(keys);
    const files = new DatabaseFiles(join(this.#root, `copy-${++this.#copies}.db`));
    files.write(this.files.read());
    const batches: string[] = [];
    const w = world({
      clock: this.clock,
      ids: countingIds(500_000_000 + this.#copies * 3_000_000 + number * 1_000_000),
      db_path: files.path,
      files: filesIn(join(this.#root, `files-${this.#copies}`)),
      settings: { "mesh.bus.url": URL, "mesh.bus.allow": '["*"]', ...LIMITS, ...settings },
      machines: {
        membership: { name, url: URL },
        access: {
          keys,
          network: NETWORK,
          place: `a copy of ${name}`,
          open: (id, listener) =>
            bus.open(id, {
              ...listener,
              batch: (from, batch) => {
                batches.push(from);
                return listener.batch(from, batch);
              },
            }),
        },
        open: (ctx, deps) => new Machines(ctx, deps),
      },
    });
    return {
      w,
      /** The senders of the batches that the bus has handed to it. */
      batches,
      report: () => w.daemon.machines?.report(),
      [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
    };
  }

  /** Connects its peers. */
  async prepare(): Promise<void> {
    for (const actor of this.actors) await this.connect(actor, true);
    for (const actor of this.agents) {
      const peer = { name: actor.name, path: "/work", backend: "generic", circle: "work" };
      actor.peer_id = String((await this.post("/peers", peer))["peer_id"]);
    }
  }

  connect(actor: Actor, receipts: boolean): Promise<void> {
    const claim = actor.peer_id === undefined ? {} : { peer_id: actor.peer_id };
    return actor.connect(this.w, { circle: "work", ...claim }, receipts);
  }

  /** Stops the daemon as an operator does, and starts it again. */
  async restart(): Promise<void> {
    // A daemon that shuts down behind a frozen link waits by its clock, which stands still here.
    this.#deps.bus.thaw(this.daemon_id);
    let isDone = false;
    const ending = this.w[Symbol.asyncDispose]().finally(() => isDone = true);
    while (!isDone) {
      this.adapter.releaseSlow();
      await this.clock.settle();
    }
    await ending;
    this.checkLog();
    this.start();
  }

  /** Stops at once; the next run finds the image. Returns the daemon that lost its power. */
  cutPower(image: DatabaseImage): World {
    this.#deps.bus.disconnect(this.daemon_id);
    for (const actor of this.actors) actor.stopListening();
    this.#run++;
    this.files.write(image);
    this.adapter.end();
    return this.w;
  }

  /**
   * Restores its database of an earlier moment; nothing remembers later changes. Returns the old
   * daemon.
   */
  goBack(image: DatabaseImage): World {
    const old = this.cutPower(image);
    this.received.clear();
    this.#events.written.clear();
    this.waits.length = 0;
    this.start();
    this.before = new Map(this.rows().map((row) => [row.ident, row]));
    return old;
  }

  /** Records that a peer has sent a receipt; its frames in transit may still arrive. */
  recordReceipt(peer_id: string, delivery_id: string): void {
    for (const actor of this.actors) actor.recordReceipt(peer_id, delivery_id);
  }

  async post(path: string, body: unknown): Promise<Answer> {
    return await this.#answer(path, { method: "POST", body: JSON.stringify(body) });
  }

  async get(path: string): Promise<Answer> {
    return await this.#answer(path, {});
  }

  /** Ticks as the scheduler does, which goes on after a tick that failed for the disk. */
  tick(): void {
    try {
      this.w.daemon.tick();
    } catch (error) {
      if (!this.#deps.faults.hit) throw error;
    }
  }

  rows(): readonly Row[] {
    return rowsOf(this.w.daemon);
  }

  /** Only failures of a step with a failed statement were logged as errors. */
  checkLog(): void {
    const errors = this.w.logged.splice(0).filter((line) => WRONG.test(line));
    if (!this.#deps.faults.hit) assert.deepEqual(errors, [], this.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.adapter.end();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#root, { recursive: true });
  }

  /** Sends a request. The answer is an internal error only if a statement has failed. */
  async #answer(path: string, init: RequestInit): Promise<Answer> {
    const run = this.#run;
    const response = await this.w.fetch(path, init);
    const { status } = response;
    const answer = await response.json();
    if (run !== this.#run) throw new LostPower();
    const isExpected = status < 500 || this.#deps.faults.hit;
    assert.ok(isExpected, `${path} answers ${status}: ${JSON.stringify(answer)}`);
    return { ...answer, http: status };
  }
}

/** The daemon that would have answered has lost its power. */
export class LostPower extends Error {}
