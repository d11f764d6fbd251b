/** Power cuts: the daemon stops within its work, and the next one finds what the disk holds. */

import type { World } from "../../support/world.ts";
import { TURNS } from "../../support/swift_clock.ts";
import { type DatabaseImage, tornImage } from "../database_files.ts";
import { forgetLostReceipts, receiptsOf } from "./receipts.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { Storm } from "./storm.ts";

type Work = () => Promise<unknown>;

/** Up to which of its commits work may come before the power is cut. */
const COMMITS_MAX = 5;

/**
 * Cuts the power a few turns after `work` has begun: the next run finds only what is on the disk
 * by then. What was answered by then is accepted, and what was written by then is read.
 */
export async function crash(storm: Storm, work: Work): Promise<void> {
  const known = receiptsOf(storm.received);
  run(work);
  for (let turn = storm.chance.below(TURNS); turn > 0; turn--) {
    await new Promise((done) => setImmediate(done));
  }
  await restart(storm, storm.runs.cutPower(storm.runs.files.read()), known);
}

/**
 * Cuts the power within one of the commits of `work`: of that transaction the disk holds all,
 * nothing, or some of the sectors. No effect of it has left the daemon.
 */
export async function crashAtCommit(storm: Storm, work: Work): Promise<void> {
  const { faults, runs, chance } = storm;
  const known = receiptsOf(storm.received);
  const cut = Promise.withResolvers<World>();
  let commits = chance.below(COMMITS_MAX);
  let before: DatabaseImage | undefined;
  faults.beforeCommit = () => {
    if (commits-- === 0) before = runs.files.read();
  };
  faults.afterCommit = () => {
    if (!before) return;
    const after = runs.files.read();
    const images = [before, after, tornImage(before, after, chance)];
    stopListening(storm);
    cut.resolve(runs.cutPower(chance.pick(images)));
  };
  run(async () => {
    await work();
    await storm.w.clock.settle();
  }, () => cut.resolve(undefined as never));
  const old = await cut.promise ?? runs.cutPower(runs.files.read());
  stopListening(storm);
  await restart(storm, old, known);
}

/** Begins work whose end and whose errors do not matter: the run that would answer is over. */
function run(work: Work, done: () => void = () => undefined): void {
  work().then(done, done);
}

/** From now on, no output of the daemon leaves it. */
function stopListening({ actors, faults }: Storm): void {
  faults.beforeCommit = faults.afterCommit = undefined;
  for (const actor of actors) actor.stopListening();
}

async function restart(
  storm: Storm,
  old: World,
  known: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<void> {
  const readingActors = storm.actors.filter(() => storm.chance.oneIn(2));
  for (const actor of readingActors) actor.readReceived(storm.chance);
  storm.startAgain();
  const rows = [...takeSnapshot(storm.w.daemon).byIdent.values()];
  forgetLostReceipts(storm.received, known, rows);
  await old[Symbol.asyncDispose]();
}
