/** Verbs that stop a daemon at any point, and verbs of a disk that fails. */

import assert from "node:assert/strict";
import type { World } from "../../../support/world.ts";
import { forgetLostReceipts, receiptsOf } from "../../daemon/receipts.ts";
import { type DatabaseImage, tornImage } from "../../database_files.ts";
import type { MachinesStorm } from "../machines_storm.ts";
import type { StormMachine } from "../storm_machine.ts";
import { answer, cancel } from "./answers.ts";
import { burst, send } from "./messages.ts";
import { receipt } from "./peers.ts";

/** Up to which of its commits a daemon may come before it stops. */
const COMMITS_MAX = 8;
/** Up to how many turns of the event loop. */
const TURNS_MAX = 16;

type Work = (storm: MachinesStorm) => Promise<unknown>;

const WORK: readonly Work[] = [
  (storm) => send(storm, "ask"),
  (storm) => send(storm, "notify"),
  burst,
  (storm) => answer(storm, "ack"),
  cancel,
  receipt,
  (storm) => storm.tick(2),
  (storm) => storm.tick(2),
  (storm) => {
    for (const { daemon_id } of storm.machines) {
      storm.bus.thaw(daemon_id);
      storm.bus.setReachable(daemon_id, true);
      storm.bus.resume(daemon_id);
    }
    return storm.clock.settle();
  },
];

/** Time for a live run to answer a copy, also if it must first prove its own place. */
const ANSWERED_SECONDS_MAX = 5;

/**
 * Verbs that may run beside a copy. They take little time, because a run that cannot reach the bus
 * for long loses its place.
 */
const COPIED: readonly Work[] = [
  (storm) => send(storm, "ask"),
  (storm) => send(storm, "notify"),
  burst,
  (storm) => answer(storm, "ack"),
  (storm) => storm.tick(),
];

/** Stops a daemon a few turns after some work has begun: the disk keeps what was written. */
export async function kill(storm: MachinesStorm): Promise<void> {
  const { chance } = storm;
  const machine = storm.anyMachine();
  const known = receiptsOf(machine.received);
  run(storm);
  for (let turn = chance.below(TURNS_MAX); turn > 0; turn--) {
    await new Promise((done) => setImmediate(done));
  }
  await restart(storm, machine, machine.cutPower(machine.files.read()), known);
}

/**
 * Cuts the power of a machine within one of its commits: of that transaction its disk holds all,
 * nothing, or some of the sectors. No effect of it has left the daemon.
 */
export async function crashAtCommit(storm: MachinesStorm): Promise<void> {
  const { chance, faults } = storm;
  const machine = storm.anyMachine();
  const known = receiptsOf(machine.received);
  const cut = Promise.withResolvers<World | undefined>();
  let commits = chance.below(COMMITS_MAX);
  let before: DatabaseImage | undefined;
  faults.beforeCommit = (path) => {
    if (path === machine.files.path && commits-- === 0) before = machine.files.read();
  };
  faults.afterCommit = () => {
    if (!before) return;
    faults.beforeCommit = faults.afterCommit = undefined;
    const after = machine.files.read();
    const images = [before, after, tornImage(before, after, chance)];
    cut.resolve(machine.cutPower(chance.pick(images)));
  };
  run(storm, () => cut.resolve(undefined));
  const old = await cut.promise ?? machine.cutPower(machine.files.read());
  faults.beforeCommit = faults.afterCommit = undefined;
  await restart(storm, machine, old, known);
}

/**
 * A copy of a machine runs for a while beside the original, which takes part. The copy is refused,
 * reports that, and gets nothing.
 */
export async function copy(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  if (!storm.bus.takesPart(machine.daemon_id)) return;
  await using second = machine.startCopy();
  for (let round = storm.chance.below(3); round >= 0; round--) {
    await storm.chance.pick(COPIED)(storm);
    second.w.daemon.tick();
    await storm.clock.settle();
  }
  await checkRefused(storm, second);
  assert.deepEqual(second.batches, [], `The copy of ${machine.name} takes part`);
}

/** Waits until the original has answered: it may need a recent proof of its own place for that. */
async function checkRefused(
  storm: MachinesStorm,
  { w, report }: ReturnType<StormMachine["startCopy"]>,
): Promise<void> {
  const { faults } = storm.bus;
  faults.byChance = false;
  let bus = (await report())?.bus;
  for (let waited = 0; !bus?.identity_in_use && waited < ANSWERED_SECONDS_MAX; waited++) {
    assert.notEqual(bus?.status, "connected", "A copy takes part before it has been answered");
    await storm.tick();
    w.daemon.tick();
    await storm.clock.settle();
    bus = (await report())?.bus;
  }
  faults.byChance = true;
  assert.equal(bus?.identity_in_use?.this_one, "refused", `${bus?.status}: ${bus?.reason}`);
  assert.notEqual(bus?.status, "connected");
}

/** Lets a statement fail on any machine: nothing of its transaction is stored, or all later. */
export async function failCommit(storm: MachinesStorm): Promise<void> {
  const { chance, faults } = storm;
  const at = chance.pick(["commit", "any", "begin"] as const);
  const fault = at === "begin" ? "busy" : chance.pick(["full", "io_error"] as const);
  faults.arm({ at, fault, after: chance.below(at === "any" ? 40 : 6), endsTransaction: false });
  await chance.pick(WORK)(storm);
  await storm.clock.settle();
  faults.disarm();
  await storm.tick(2);
}

/** Begins work whose end and whose errors do not matter: the run that would answer is over. */
function run(storm: MachinesStorm, done: () => void = () => undefined): void {
  storm.chance.pick(WORK)(storm).then(() => storm.clock.settle()).then(done, done);
}

async function restart(
  storm: MachinesStorm,
  machine: StormMachine,
  old: World,
  known: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<void> {
  for (const actor of machine.actors) if (storm.chance.oneIn(2)) actor.readReceived(storm.chance);
  machine.start();
  forgetLostReceipts(machine.received, known, machine.rows());
  await storm.clock.settle(); // What the dead daemon does yet leaves it no more.
  await old[Symbol.asyncDispose]();
  await storm.clock.settle();
}
