/** Verbs of faults behind a relay: power cuts of machines, commits that fail, clock jumps. */

import assert from "node:assert/strict";
import type { World } from "../../support/world.ts";
import { type DatabaseImage, tornImage } from "../database_files.ts";
import { send, sendWithKey } from "./call_verbs.ts";
import type { RelayStorm } from "./relay_storm.ts";
import type { RemoteDaemon } from "./remote_daemon.ts";

const JUMPS_MS = [1000, 60_000, 600_000];

/** Cuts the power of a machine a few turns after a call has begun. */
export async function crash(storm: RelayStorm): Promise<void> {
  const daemon = storm.chance.pick(storm.daemons);
  await send(storm, "ask_agent");
  for (let turn = storm.chance.below(8); turn > 0; turn--) {
    await new Promise((done) => setImmediate(done));
  }
  await startAgain(storm, daemon, daemon.cutPower(daemon.files.read()));
}

/** Cuts the power of a machine within a commit: the disk has all of it, nothing, or a part. */
export async function crashAtCommit(storm: RelayStorm): Promise<void> {
  const { chance, faults } = storm;
  let crashed: { daemon: RemoteDaemon; old: World } | undefined;
  let before: { daemon: RemoteDaemon; image: DatabaseImage } | undefined;
  faults.beforeCommit = (path) => {
    const daemon = storm.daemons.find(({ files }) => files.path === path);
    before = daemon && { daemon, image: daemon.files.read() };
  };
  faults.afterCommit = () => {
    faults.beforeCommit = faults.afterCommit = undefined;
    if (!before) return;
    const { daemon, image } = before;
    const after = daemon.files.read();
    const left = chance.pick([image, after, tornImage(image, after, chance)]);
    crashed = { daemon, old: daemon.cutPower(left) };
  };
  await chance.pick([() => send(storm, "ask_agent"), () => sendWithKey(storm)])();
  faults.beforeCommit = faults.afterCommit = undefined;
  if (crashed) await startAgain(storm, crashed.daemon, crashed.old);
}

async function startAgain(storm: RelayStorm, daemon: RemoteDaemon, old: World): Promise<void> {
  daemon.start();
  await old[Symbol.asyncDispose]();
  await storm.clock.settle();
}

export async function failCommit(storm: RelayStorm): Promise<void> {
  const { chance, faults } = storm;
  const at = chance.pick(["commit", "any", "begin"] as const);
  const fault = at === "begin" ? "busy" : "full";
  faults.arm({ at, fault, after: chance.below(at === "any" ? 20 : 2), endsTransaction: false });
  await chance.pick([() => send(storm, "ask_agent"), () => sendWithKey(storm)])();
  faults.disarm();
}

/** Freezes a link, which stays open: in one direction or in both. */
export async function freeze(storm: RelayStorm): Promise<void> {
  const { chance, daemons, frozen, seconds } = storm;
  const { tunnel } = chance.pick(daemons);
  tunnel?.freeze(chance.pick(["up", "down", "both"]));
  if (tunnel?.open) frozen.push({ tunnel, since: seconds });
  await send(storm, "ask_agent");
  await storm.tick(chance.pick([1, 25, 70, 130]));
}

/** Keys are kept for a day by the clock of their machine, so it never jumps far. */
export async function jump(storm: RelayStorm): Promise<void> {
  const { chance, clock } = storm;
  const ms = chance.pick(JUMPS_MS);
  if (chance.oneIn(4)) clock.sleepMachine(ms);
  else clock.step(chance.oneIn(2) ? ms : -ms);
  const uptime_ms = storm.relay.relay.uptime_ms;
  await storm.tick(1);
  assert.equal(storm.relay.relay.uptime_ms - uptime_ms, 1000, "The uptime jumps");
}
