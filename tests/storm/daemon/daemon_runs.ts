/** The daemon of a storm: it starts, stops and loses its power, run after run, on one disk. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { DeliveryStep } from "kit/data/events.ts";
import { countingIds } from "../support/ids.ts";
import type { Chance } from "../support/seeded_random.ts";
import { SwiftClock } from "../support/swift_clock.ts";
import { FakeProcesses, type World, world } from "../support/world.ts";
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

export class DaemonRuns implements AsyncDisposable {
  readonly tmux: StormTmux;
  /** The directory of the database, in which agents are spawned too. */
  readonly directory = Deno.makeTempDirSync({ prefix: "mesh-storm-" });
  /** The daemon of the current run. */
  w!: World;
  adapter!: StormAdapter;
  /** The state of each delivery: at the start of the run, then according to its reported steps. */
  steps = new Map<string, string>();
  readonly #chance: Chance;
  readonly #events: TransportEvents;
  readonly #shared = {
    clock: new SwiftClock(),
    ids: countingIds(),
    processes: new FakeProcesses(),
  };
  #terminals!: StormTerminals;
  #run = 0;
  #reported: DeliveryStep[] = [];

  constructor(chance: Chance, events: TransportEvents) {
    this.#chance = chance;
    this.#events = events;
    this.tmux = new StormTmux(this.#shared.processes, chance);
    this.start();
  }

  get processes(): FakeProcesses {
    return this.#shared.processes;
  }

  /** The delivery steps reported since the last call. */
  takeSteps(): DeliveryStep[] {
    return this.#reported.splice(0);
  }

  /** Starts a daemon on the disk as it is. */
  start(): void {
    const adapter = this.adapter = new StormAdapter(this.#chance, this.#events);
    const terminals = this.#terminals = new StormTerminals(this.tmux);
    const settings = { ...SETTINGS, "spawn.allowed_paths": JSON.stringify([this.directory]) };
    const options = { settings, db_path: this.#path(), adapters: [adapter], terminals };
    this.w = world({ ...this.#shared, ...options, paneObserver: this.tmux });
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

  /** Keeps what is on the disk now for the next run; returns the daemon that lost its power. */
  cutPower(): World {
    const from = this.#path();
    this.#run++;
    for (const part of ["", "-wal"]) Deno.copyFileSync(`${from}${part}`, `${this.#path()}${part}`);
    this.adapter.end();
    this.#terminals.end();
    return this.w;
  }

  /** Sends a request; the answer is never an internal error. */
  async answer(path: string, init: RequestInit): Promise<Answer> {
    const run = this.#run;
    const response = await this.w.fetch(path, init);
    const { status } = response;
    const answer = await response.json();
    if (run !== this.#run) throw new Error("The daemon that answered has lost its power");
    const full = status === 502 && answer.error === "spawn_failed"; // All pids are taken.
    assert.ok(status < 500 || full, `${path} answers ${status}: ${JSON.stringify(answer)}`);
    return { ...answer, http: status };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.adapter.end();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.directory, { recursive: true });
  }

  #path(): string {
    return join(this.directory, `mesh-${this.#run}.db`);
  }
}
