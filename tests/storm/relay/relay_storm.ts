/** A storm on a relay with daemons of two accounts and their remote clients. */

import assert from "node:assert/strict";
import { SwiftClock } from "../../support/swift_clock.ts";
import {
  OTHER_SECRET,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";
import { Chance } from "../../support/seeded_random.ts";
import { SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";
import {
  seedOfStep,
  type Simulation,
  type SimulationOptions,
  StepError,
  VERB,
} from "../simulation.ts";
import type { RemoteClient, SentMessage } from "./calls.ts";
import { RemoteDaemon } from "./remote_daemon.ts";
import type { FaultyTunnel } from "./tunnel.ts";

/** The machines: two of one account, and one of another with the same id as the first. */
const MACHINES = [
  { number: 1, secret: SECRET },
  { number: 2, secret: SECRET },
  { number: 1, secret: OTHER_SECRET },
];
/** Two apps of one account, and one of the other. */
const ASKERS = [
  ["mcp-00000000000a", SECRET],
  ["mcp-00000000000b", SECRET],
  ["mcp-00000000000c", OTHER_SECRET],
] as const;
/** Maximum time until everything has ended: the longest timeout and the longest backoff. */
const HEAL_SECONDS = 150;

/** The number of the step after the last. */
const FINISH = Infinity;

export interface RelayVerb {
  readonly name: string;
  readonly weight: number;
  readonly run: (storm: RelayStorm) => Promise<unknown>;
}

export interface RelayInvariant {
  readonly name: string;
  readonly check: (storm: RelayStorm) => void;
}

export interface RelayRules {
  readonly verbs: readonly RelayVerb[];
  readonly invariants: readonly RelayInvariant[];
  /** True once all faults are over: no call is under way, and every machine is connected. */
  readonly isHealed: (storm: RelayStorm) => boolean;
}

export interface RelayStormOptions extends SimulationOptions {
  readonly rules: RelayRules;
}

export class RelayStorm implements Simulation {
  readonly chance: Chance;
  readonly clock = new SwiftClock();
  readonly faults = new SqliteFaults();
  readonly uncaught = new UncaughtErrors();
  readonly daemons: readonly RemoteDaemon[];
  readonly clients: readonly RemoteClient[];
  relay: RelayWorld;
  /** Everything that clients have sent, and the calls that are under way. */
  readonly sent: SentMessage[] = [];
  readonly running = new Set<Promise<unknown>>();
  /** Wrong answers that clients have received since the last check. */
  readonly wrongAnswers: unknown[] = [];
  readonly verbNames: string[] = [];
  readonly #options: RelayStormOptions;
  /** Frozen links, each with the second of the storm at which it froze. */
  frozen: { readonly tunnel: FaultyTunnel; readonly since: number }[] = [];
  seconds = 0;
  #texts = 0;
  #isReady = false;

  constructor(options: RelayStormOptions) {
    this.#options = options;
    this.chance = new Chance(options.seed);
    this.relay = runningRelay(this.clock);
    this.daemons = MACHINES.map((machine) =>
      new RemoteDaemon({
        ...machine,
        clock: this.clock,
        openSocket: (...dial) => this.relay.openSocket(...dial),
      })
    );
    this.clients = ASKERS.map(([asker, secret]) => {
      const namespace = this.daemons[MACHINES.findIndex((owner) => owner.secret === secret)]
        ?.namespace;
      return { asker, namespace: namespace ?? "" };
    });
  }

  async step(number: number): Promise<void> {
    const { seed, rules, trace } = this.#options;
    await this.#prepare();
    this.chance.restart(seedOfStep(seed, number));
    const verb = this.chance.weighted(rules.verbs);
    await this.#check(number, verb.name, () => verb.run(this));
    trace?.(this.#traceLine());
  }

  /** Ends all faults: every call comes to an end, and every daemon connects again. */
  async finish(): Promise<void> {
    await this.#check(FINISH, "all faults end", async () => {
      for (const { tunnel } of this.daemons) tunnel?.resume();
      const { isHealed } = this.#options.rules;
      for (let second = 0; second < HEAL_SECONDS && !isHealed(this); second++) await this.tick(1);
      assert.ok(isHealed(this), "A call has no end, or a machine has not connected again");
    });
    this.#options.trace?.(this.#traceLine());
  }

  /** A unique text, by which a message is found in a ledger. */
  nextText(): string {
    return `sesame ${++this.#texts}`;
  }

  /** Follows a call, which may end after many steps. */
  follow(call: Promise<unknown>): void {
    const running = call.catch((error) => this.wrongAnswers.push(error))
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Some seconds pass, with the ticks of the relay and of the daemons. */
  async tick(seconds: number): Promise<void> {
    this.seconds += seconds;
    await this.relay.tick(seconds, ...this.daemons.map(({ w }) => w));
  }

  /** Replaces the relay. After a crash, nobody has heard of its end. */
  async restartRelay({ crashes }: { crashes: boolean }): Promise<void> {
    if (crashes) { for (const { tunnel } of this.daemons) tunnel?.cut(); }
    const before = this.relay;
    this.relay = runningRelay(this.clock);
    await before[Symbol.asyncDispose]();
    await this.clock.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.faults[Symbol.dispose]();
    for (const daemon of this.daemons) await daemon[Symbol.asyncDispose]();
    await this.relay[Symbol.asyncDispose]();
    this.uncaught[Symbol.dispose]();
  }

  async #prepare(): Promise<void> {
    if (this.#isReady) return;
    this.#isReady = true;
    for (const daemon of this.daemons) await daemon.prepare();
    await this.tick(1);
  }

  async #check(number: number, name: string, work: () => Promise<unknown>): Promise<void> {
    this.verbNames.push(`${number}. ${name}`);
    this.#options.trace?.(`${number}. ${name}`);
    this.faults.reset();
    let invariant = VERB;
    try {
      await work();
      await this.clock.settle();
      this.faults.disarm();
      for (const rule of this.#options.rules.invariants) {
        invariant = rule.name;
        rule.check(this);
      }
    } catch (error) {
      throw new StepError({ number, invariant, verbNames: this.verbNames }, error);
    }
  }

  #traceLine(): string {
    const sent = this.sent.map(({ text, outcome }) => ({ text, outcome }));
    return JSON.stringify([this.clock.now(), sent, this.daemons.map((daemon) => daemon.rows())]);
  }
}

/** A relay that runs its own loop, because the clock may be set. */
function runningRelay(clock: SwiftClock): RelayWorld {
  const relay = relayWorld(clock);
  relay.run();
  return relay;
}
