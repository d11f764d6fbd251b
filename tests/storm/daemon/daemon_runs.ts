/** The daemon of a storm: it starts, stops and loses its power, run after run, on one disk. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Ids } from "kit/core/clock.ts";
import type { DeliveryStep } from "protocol/events.ts";
import { filesIn } from "../../../daemon/host/files.ts";
import { countingIds } from "../../support/ids.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { makeMemoryDir, migratedImage } from "../../support/migrated.ts";
import type { Chance } from "../../support/seeded_random.ts";
import type { SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import { FakeProcesses, type World, world } from "../../support/world.ts";
import { DatabaseFiles, type DatabaseImage } from "../database_files.ts";
import { StormAdapter, type TransportEvents } from "./fake_transports.ts";
import { takeSnapshot } from "./snapshot.ts";
import { HUMAN } from "./texts.ts";
import { StormTerminals, StormTmux } from "./tmux.ts";

const SETTINGS = {
  "human.name": HUMAN,
  "spawn.commands": JSON.stringify({ generic: ["agent"] }),
  "daemon.queue.max_per_peer": "130",
  "daemon.limits.pair_per_minute": "0",
  "daemon.history_days": "3650", // No row may be removed for its age.
};

export interface Answer {
  readonly http: number;
  readonly [field: string]: unknown;
}

/** Dependencies of a storm's daemon. */
export interface RunsDeps {
  readonly chance: Chance;
  readonly events: TransportEvents;
  readonly faults: SqliteFaults;
}

export class DaemonRuns implements AsyncDisposable {
  readonly tmux: StormTmux;
  readonly clock = new SwiftClock();
  readonly processes = new FakeProcesses();
  /** The daemon of the current run. */
  w!: World;
  adapter!: StormAdapter;
  /** The state of each delivery: at the start of the run, then according to its reported steps. */
  steps = new Map<string, string>();
  readonly #deps: RunsDeps;
  readonly #root = makeMemoryDir("mesh-storm-");
  /** The directory in which agents are spawned and files are stored. Traces leave out its name. */
  readonly directory = join(this.#root, "project");
  readonly #ids: Ids;
  /** True once the database has gone back: from then on, runs skip numbers. */
  hasGoneBack = false;
  #terminals!: StormTerminals;
  #run = 0;
  #reported: DeliveryStep[] = [];

  constructor(deps: RunsDeps) {
    this.#deps = deps;
    const distance = (max: number) => this.hasGoneBack ? 1 + deps.chance.below(max) : 1;
    this.#ids = { ...countingIds(), distance };
    this.tmux = new StormTmux(this.processes, deps.chance);
    Deno.mkdirSync(this.directory);
    this.files.write({ main: migratedImage() });
    this.start();
  }

  /** The database of the current run. */
  get files(): DatabaseFiles {
    return new DatabaseFiles(join(this.#root, `mesh-${this.#run}.db`));
  }

  /** The delivery steps reported since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.#reported.splice(0);
  }

  /** Starts a daemon on the disk as it is. */
  start(): void {
    const { chance, events } = this.#deps;
    const adapter = this.adapter = new StormAdapter(chance, events);
    const terminals = this.#terminals = new StormTerminals(this.tmux);
    const settings = { ...SETTINGS, "spawn.allowed_paths": JSON.stringify([this.directory]) };
    const { clock, processes } = this;
    const machine = { clock, processes, ids: this.#ids, paneObserver: this.tmux };
    const files = filesIn(join(this.directory, "files"));
    const options = { settings, db_path: this.files.path, files, adapters: [adapter], terminals };
    this.w = world({ ...machine, ...options });
    const reported: DeliveryStep[] = this.#reported = [];
    this.w.daemon.ctx.events.subscribe({ delivery: (step) => void reported.push(step) });
    const { messages } = takeSnapshot(this.w.daemon);
    this.steps = new Map(messages.map(({ ident, state }) => [ident, state]));
  }

  /** Stops the daemon as an operator does: it waits for deliveries in progress. */
  async stop(): Promise<void> {
    let done = false;
    const ending = this.w[Symbol.asyncDispose]().finally(() => done = true);
    while (!done) {
      this.adapter.releaseSlow();
      await this.w.clock.settle();
    }
    await ending;
  }

  /** Keeps an image of the disk for the next run; returns the daemon that lost its power. */
  cutPower(image: DatabaseImage): World {
    this.#run++;
    this.files.write(image);
    this.adapter.end();
    this.#terminals.end();
    return this.w;
  }

  /** Replaces the database by an earlier image; returns the daemon that lost it. */
  goBack(image: DatabaseImage): World {
    this.hasGoneBack = true;
    return this.cutPower(image);
  }

  /** Sends a request. The answer is an internal error only if a statement has failed. */
  async answer(path: string, init: RequestInit): Promise<Answer> {
    const run = this.#run;
    const response = await this.w.fetch(path, init);
    const { status } = response;
    const answer = await response.json();
    if (run !== this.#run) throw new Error("The daemon that answered has lost its power");
    const full = status === 502 && answer.error === "spawn_failed"; // All pids are taken.
    const expected = status < 500 || full || this.#deps.faults.hit;
    assert.ok(expected, `${path} answers ${status}: ${JSON.stringify(answer)}`);
    return { ...answer, http: status };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.adapter.end();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#root, { recursive: true });
  }
}
