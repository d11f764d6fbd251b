/** The daemon of a storm, which is killed at any moment. The next one finds what is on the disk. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { countingIds } from "../support/ids.ts";
import { makeMemoryDir, migratedImage } from "../support/migrated.ts";
import { Chance } from "../support/seeded_random.ts";
import { SwiftClock, TURNS } from "../support/swift_clock.ts";
import { UncaughtErrors } from "../support/uncaught_errors.ts";
import type { World, WorldOptions } from "../support/world.ts";
import { DatabaseFiles, type DatabaseImage } from "./database_files.ts";
import { seedOfStep, type SimulationOptions, StepError, VERB } from "./simulation.ts";

export interface KillVerb<Storm> {
  readonly name: string;
  readonly weight: number;
  readonly run: (storm: Storm) => Promise<unknown>;
}

/** The invariants after each step, by name. */
export type Checks = Readonly<Record<string, () => void | Promise<void>>>;

export abstract class KilledWorld implements AsyncDisposable {
  readonly chance: Chance;
  w!: World;
  readonly #options: SimulationOptions;
  readonly #uncaught = new UncaughtErrors();
  readonly #clock = new SwiftClock();
  readonly #ids = countingIds();
  readonly root: string;
  readonly #verbNames: string[] = [];
  #run = 0;

  constructor(options: SimulationOptions, prefix: string) {
    this.#options = options;
    this.chance = new Chance(options.seed);
    this.root = Deno.realPathSync(makeMemoryDir(prefix));
    this.#files.write({ main: migratedImage() });
  }

  /** Opens the next run of the daemon. */
  protected abstract openWorld(shared: WorldOptions): World;

  /** The run that ends can change nothing any more. */
  protected abstract endRun(): void;

  get #files(): DatabaseFiles {
    return new DatabaseFiles(join(this.root, `mesh-${this.#run}.db`));
  }

  /** Called by each subclass once it is built. */
  protected start(): void {
    this.w = this.openWorld({ clock: this.#clock, ids: this.#ids, db_path: this.#files.path });
  }

  /** Takes one step, and checks what holds after it. */
  protected async take<Storm>(
    number: number,
    storm: Storm,
    verbs: readonly KillVerb<Storm>[],
    checks: Checks,
  ): Promise<void> {
    const { seed, trace } = this.#options;
    this.chance.restart(seedOfStep(seed, number));
    const verb = this.chance.weighted(verbs);
    this.#verbNames.push(`${number}. ${verb.name}`);
    trace?.(`${number}. ${verb.name}`);
    let invariant = VERB;
    try {
      await verb.run(storm);
      await this.settle();
      for (const [name, check] of Object.entries(checks)) {
        invariant = name;
        await check();
      }
      invariant = "nothing is logged";
      assert.deepEqual(this.w.logged.splice(0), []);
    } catch (error) {
      throw new StepError({ number, invariant, verbNames: this.#verbNames }, error);
    }
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await this.#clock.settle();
  }

  async tick(seconds = 1): Promise<void> {
    await this.#clock.advance(seconds * 1000);
    this.w.daemon.tick();
    // Folders are checked for real.
    await Deno.realPath(this.root);
    await this.settle();
  }

  async post(path: string, body: unknown = {}): Promise<Record<string, unknown>> {
    const run = this.#run;
    const response = await this.w.post(path, body);
    const answer = await response.json();
    if (run !== this.#run) throw new Error("The daemon that answered was killed");
    assert.ok(response.status !== 500, `${path} answers ${JSON.stringify(answer)}`);
    return answer;
  }

  async get(path: string): Promise<Record<string, unknown>> {
    return await (await this.w.fetch(path)).json();
  }

  /** Kills the daemon a few turns after some work has begun. What it had stored stays. */
  async killDuring(work: () => Promise<unknown>): Promise<void> {
    const ignored = () => undefined;
    work().then(ignored, ignored);
    const turns = this.chance.below(3 * TURNS);
    for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
    await this.restart(this.#files.read());
  }

  /** The daemon ends at once, and the next one finds this on the disk. */
  async restart(image: DatabaseImage = this.#files.read()): Promise<void> {
    const old = this.w;
    this.endRun();
    this.#run++;
    this.#files.write(image);
    this.start();
    await old[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#uncaught[Symbol.dispose]();
    this.endRun();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.root, { recursive: true });
  }
}
