/** Two machines over a bus that loses, repeats and reorders, while both crash. */

import assert from "node:assert/strict";
import * as z from "zod";
import { LinkedMachine } from "../../../support/links/linked_machine.ts";
import { LossyBus } from "../../../support/links/lossy_bus.ts";
import { countingIds } from "../../../support/ids.ts";
import { Chance } from "../../../support/seeded_random.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";

const SEEDS = 60;
const STEPS = 80;
/** Steps of a minute until all must be confirmed once nothing fails any more. */
const MINUTES_MAX = 200;

/** Two machines, both connected. */
class Run implements Disposable {
  readonly chance: Chance;
  readonly clock = new SwiftClock();
  readonly bus: LossyBus;
  readonly machines: readonly [LinkedMachine, LinkedMachine];

  constructor(seed: number) {
    this.chance = new Chance(seed);
    this.bus = new LossyBus(this.chance);
    const deps = { clock: this.clock, ids: countingIds(), bus: this.bus };
    this.machines = [new LinkedMachine("dm-a", deps), new LinkedMachine("dm-b", deps)];
    for (const machine of this.machines) machine.connect();
  }

  async step(): Promise<void> {
    const { chance, bus, clock } = this;
    const machine = chance.pick(this.machines);
    const { act } = chance.weighted([
      { weight: 20, act: () => this.#append(machine) },
      { weight: 40, act: () => this.#deliver(1 + chance.below(6)) },
      { weight: 15, act: () => clock.advance(chance.below(50)) },
      { weight: 8, act: () => clock.advance(chance.below(60_000)) },
      { weight: 6, act: () => this.#crash(machine) },
      { weight: 2, act: () => bus.loseStore() },
      { weight: 3, act: () => machine.disconnect() },
      { weight: 6, act: () => machine.connect() },
    ]);
    await act();
    for (let turn = chance.below(10); turn > 0; turn--) {
      await new Promise((done) => setImmediate(done));
    }
  }

  async settle(): Promise<void> {
    this.bus.isFaulty = false;
    if (this.chance.oneIn(3)) this.bus.loseStore();
    for (const machine of this.machines) machine.connect();
    for (let minute = 0; minute < MINUTES_MAX && !this.#isDone(); minute++) {
      await this.clock.advance(60_000);
      await this.deliverAll();
    }
  }

  #append(machine: LinkedMachine): void {
    const { chance } = this;
    for (let count = chance.oneIn(4) ? chance.below(150) : 3; count > 0; count--) {
      machine.append(this.#otherOf(machine).name, {
        refuse: chance.oneIn(15),
        answer: chance.oneIn(5),
      });
    }
  }

  #crash(machine: LinkedMachine): void {
    machine.crash();
    if (!this.chance.oneIn(4)) machine.connect();
  }

  /** Deliveries overlap, as none is awaited. */
  #deliver(count: number): void {
    for (; count > 0; count--) void this.bus.deliver(this.chance.pick(this.machines).name);
  }

  async deliverAll(): Promise<void> {
    for (const { name } of this.machines) {
      while (this.bus.waitingFor(name) > 0) await this.bus.deliver(name);
    }
  }

  #isDone(): boolean {
    return this.machines.every((machine) =>
      machine.links.waiting(machine.db, this.#otherOf(machine).name).entries === 0
    );
  }

  #otherOf(machine: LinkedMachine): LinkedMachine {
    const [a, b] = this.machines;
    return machine === a ? b : a;
  }

  check(): void {
    for (const sender of this.machines) {
      const receiver = this.#otherOf(sender);
      const sent = sender.numbers("select n from sent order by n");
      const refused = sender.numbers("select n from outcomes where outcome = 'unknown_peer'");
      const confirmed = sender.numbers("select n from outcomes where outcome = 'confirmed'");
      const applied = receiver.numbers("select n from applied order by seq");
      const isRefused = new Set(refused);
      assert.deepEqual(applied, sent.filter((n) => !isRefused.has(n)), "applied once, in order");
      assert.deepEqual(confirmed, applied.toSorted((a, b) => a - b), "confirmed what was applied");
      assert.deepEqual(sender.errors, []);
    }
  }

  [Symbol.dispose](): void {
    for (const machine of this.machines) machine[Symbol.dispose]();
  }
}

Deno.test("each entry is applied once and in order over a lossy bus, and confirmed", async () => {
  const failed: string[] = [];
  let sent = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    using run = new Run(seed);
    try {
      for (let step = 0; step < STEPS; step++) await run.step();
      await run.settle();
      run.check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      failed.push(`seed ${seed}: ${error.message.split("\n")[0]}`);
    }
    for (const { db } of run.machines) {
      sent += db.value(z.number(), "select count(*) from sent") ?? 0;
    }
  }
  assert.deepEqual(failed, []);
  assert.ok(sent > SEEDS * 100, `only ${sent} entries were sent`);
});

Deno.test("a machine that was off for a week gets everything once and in order", async () => {
  using run = new Run(1);
  const [sender, receiver] = run.machines;
  run.bus.isFaulty = false;
  receiver.disconnect();
  for (let day = 0; day < 7; day++) {
    for (let count = 0; count < 100; count++) sender.append(receiver.name);
    await run.clock.advance(86_400_000);
    sender.disconnect();
    sender.connect();
  }
  // 14 batches hold the entries of seven days; the rest are probes.
  assert.ok(run.bus.published < 14 + 200, `${run.bus.published} batches were stored`);
  run.bus.loseStore();
  receiver.connect();
  await run.settle();
  run.check();
  assert.equal(receiver.numbers("select n from applied").length, 700);
});

Deno.test("a confirmation that a crash loses comes again, and nothing is applied twice", async () => {
  using run = new Run(1);
  run.bus.isFaulty = false;
  const [sender, receiver] = run.machines;
  const confirmed = () => sender.numbers("select n from outcomes order by n");
  for (let count = 0; count < 3; count++) sender.append(receiver.name);
  await run.clock.settle();
  await run.deliverAll();
  await run.clock.advance(20);
  await run.bus.deliver(sender.name);
  assert.deepEqual(confirmed(), [1, 2, 3]);
  sender.crash();
  assert.deepEqual(confirmed(), [], "the disk had the confirmation already");
  sender.connect();
  await run.settle();
  run.check();
  assert.deepEqual(confirmed(), [1, 2, 3]);
});
