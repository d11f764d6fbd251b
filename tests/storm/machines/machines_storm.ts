/**
 * A storm on three machines and the bus between them: their peers talk, and everything may fail.
 */

import assert from "node:assert/strict";
import { Chance } from "../../support/seeded_random.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";
import {
  seedOfStep,
  type Simulation,
  type SimulationOptions,
  StepError,
  VERB,
} from "../simulation.ts";
import { waitingEntries } from "./rows.ts";
import { StormBus } from "./storm_bus.ts";
import { LostPower, type MachinePlan, StormMachine } from "./storm_machine.ts";

/** The second machine is administered by the first one, where the human is. `bob` is on both. */
const MACHINES: readonly MachinePlan[] = [
  {
    number: 0,
    name: "laptop",
    actors: ["ada", "bob"],
    agents: ["pat"],
    settings: { "human.name": "sam", "mesh.bus.allow_admin": '["desktop"]' },
  },
  {
    number: 1,
    name: "desktop",
    actors: ["eve", "bob"],
    agents: ["liz"],
    settings: { "mesh.bus.allow_admin": '["laptop"]' },
  },
  { number: 2, name: "buildbox", actors: ["tom", "kim"], agents: ["max"], settings: {} },
];
/** Maximum time until everything has arrived after the last fault: seconds, then minutes. */
const HEAL_SECONDS = 90;
const HEAL_MINUTES = 180;
/** Time for a machine to report its position after a restore, and for the others to send again. */
const POSITION_STEPS = 15;
const POSITION_STEP_MS = 10_000;
/** Time in which the machines find each other at first. */
const OPENING_SECONDS = 3;
/** Maximum further commits that a verb may cause; then the storm fails. */
const SETTLE_TURNS_MAX = 50;

/** The number of the step after the last. */
const FINISH = Infinity;

export interface MachinesVerb {
  readonly name: string;
  readonly weight: number;
  readonly run: (storm: MachinesStorm) => Promise<unknown>;
}

export interface MachinesInvariant {
  readonly name: string;
  readonly check: (storm: MachinesStorm) => void | Promise<void>;
}

export interface MachinesRules {
  readonly verbs: readonly MachinesVerb[];
  /** Hold after every step. */
  readonly invariants: readonly MachinesInvariant[];
  /** Hold when all faults are over, and everything has arrived. */
  readonly finalInvariants: readonly MachinesInvariant[];
}

export interface MachinesStormOptions extends SimulationOptions {
  readonly rules: MachinesRules;
  /** The machines that skip numbers when they start, as real ones do; none by default. */
  readonly skipping?: readonly string[];
}

export class MachinesStorm implements Simulation {
  readonly chance: Chance;
  readonly clock = new SwiftClock();
  readonly faults = new SqliteFaults();
  readonly uncaught = new UncaughtErrors();
  readonly bus: StormBus;
  readonly machines: readonly StormMachine[];
  readonly verbNames: string[] = [];
  readonly #options: MachinesStormOptions;
  #texts = 0;
  #isReady = false;

  constructor(options: MachinesStormOptions) {
    this.#options = options;
    const chance = this.chance = new Chance(options.seed);
    const { clock, faults } = this;
    const bus = this.bus = new StormBus(chance, clock);
    const { skipping = [] } = options;
    this.machines = MACHINES.map((plan) => {
      const repeatsNumbers = !skipping.includes(plan.name);
      return new StormMachine({ ...plan, repeatsNumbers }, { chance, clock, bus, faults });
    });
  }

  async step(number: number): Promise<void> {
    const { seed, rules } = this.#options;
    await this.#prepare();
    this.chance.restart(seedOfStep(seed, number));
    const verb = this.chance.weighted(rules.verbs);
    await this.#check(number, verb.name, () => verb.run(this), rules.invariants);
  }

  /** Ends all faults: everything arrives, or has ended with a reason. */
  async finish(): Promise<void> {
    const { rules: { invariants, finalInvariants } } = this.#options;
    this.chance.restart(seedOfStep(this.#options.seed, 0));
    await this.#check(FINISH, "all faults end", () => this.#heal(), [
      ...invariants,
      ...finalInvariants,
    ]);
  }

  /** A unique text, by which a message is found in every ledger. */
  nextText(): string {
    return `sesame ${String(++this.#texts).padStart(6, "0")}`;
  }

  machine(daemon_id: string): StormMachine | undefined {
    return this.machines.find((machine) => machine.daemon_id === daemon_id);
  }

  anyMachine(): StormMachine {
    return this.chance.pick(this.machines);
  }

  /** Some time passes, with a tick of every daemon after each part of it. */
  async tick(times = 1, ms = 1000): Promise<void> {
    for (let time = 0; time < times; time++) {
      await this.clock.advance(ms);
      this.bus.tick();
      for (const machine of this.machines) machine.tick();
      await this.clock.settle();
    }
  }

  /** Waits until everything that follows from a verb is on the disks. */
  async settle(): Promise<void> {
    await this.clock.settle();
    for (const { w: { daemon: { ctx: { db } } } } of this.machines) {
      for (let wait = 0; wait < SETTLE_TURNS_MAX; wait++) {
        const durable = db.whenDurable();
        if (!durable) break;
        durable.catch(() => undefined); // Its writers get the error, too.
        await this.clock.settle();
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.faults[Symbol.dispose]();
    for (const machine of this.machines) await machine[Symbol.asyncDispose]();
    this.uncaught[Symbol.dispose]();
  }

  async #prepare(): Promise<void> {
    if (this.#isReady) return;
    this.#isReady = true;
    this.bus.faults.byChance = false;
    for (const machine of this.machines) await machine.prepare();
    await this.tick(OPENING_SECONDS);
    this.bus.faults.byChance = true;
  }

  async #check(
    number: number,
    name: string,
    work: () => Promise<unknown>,
    invariants: readonly MachinesInvariant[],
  ): Promise<void> {
    this.verbNames.push(`${number}. ${name}`);
    this.#options.trace?.(`${number}. ${name}`);
    this.faults.reset();
    let invariant = VERB;
    try {
      await work().catch(ignoreLostPower);
      await this.settle();
      this.faults.disarm();
      for (const machine of this.machines) machine.now = machine.rows();
      for (const rule of invariants) {
        invariant = rule.name;
        const checked = rule.check(this); // No turn passes where none is needed.
        if (checked) await checked;
      }
      for (const machine of this.machines) {
        machine.before = new Map(machine.now.map((row) => [row.ident, row]));
      }
      this.#options.trace?.(this.#traceLine());
    } catch (error) {
      throw new StepError({ number, invariant, verbNames: this.verbNames }, error);
    }
  }

  async #heal(): Promise<void> {
    const { bus, machines } = this;
    bus.faults.clear();
    for (const { daemon_id, adapter } of machines) {
      bus.thaw(daemon_id);
      bus.setReachable(daemon_id, true);
      bus.resume(daemon_id);
      adapter.releaseSlow();
    }
    // A loss by a restore is noticed only after its machine has reported its position.
    if (this.#options.skipping) await this.tick(POSITION_STEPS, POSITION_STEP_MS);
    for (let second = 0; second < HEAL_SECONDS && !this.#isQuiet(); second++) await this.tick();
    for (let minute = 0; minute < HEAL_MINUTES && !this.#isQuiet(); minute++) {
      await this.tick(1, 60_000);
    }
    const waiting = machines.map(({ name, w }) => `${name}: ${waitingEntries(w.daemon)}`);
    assert.ok(this.#isQuiet(), `Entries wait for other machines: ${waiting.join(", ")}`);
    await this.tick();
  }

  #isQuiet(): boolean {
    return this.machines.every(({ daemon_id, w: { daemon } }) =>
      waitingEntries(daemon) === 0 && this.bus.waitingFor(daemon_id) === 0
    );
  }

  #traceLine(): string {
    const states = this.machines.map((machine) => [
      machine.clock.now(),
      waitingEntries(machine.w.daemon),
      machine.now,
      machine.actors.map(({ socket }) => socket?.frames.length),
    ]);
    return JSON.stringify(states);
  }
}

function ignoreLostPower(error: unknown): void {
  if (!(error instanceof LostPower)) throw error;
}
