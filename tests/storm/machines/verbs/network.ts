/** Verbs of the bus and of the clocks: what may happen between machines. */

import type { MachinesStorm } from "../machines_storm.ts";

/** Errors of a wrong clock, in either direction. */
const SKEWS_MS = [0, 1000, 30_000, 600_000, 172_800_000];

export function setReachable(storm: MachinesStorm, isReachable: boolean): Promise<void> {
  storm.bus.setReachable(storm.anyMachine().daemon_id, isReachable);
  return storm.clock.settle();
}

/** Freezes a link for a time shorter or longer than the client needs to notice. */
export async function freeze(storm: MachinesStorm): Promise<void> {
  storm.bus.freeze(storm.anyMachine().daemon_id);
  await storm.tick(storm.chance.pick([1, 20, 60]));
}

export function thaw(storm: MachinesStorm): Promise<void> {
  for (const { daemon_id } of storm.machines) storm.bus.thaw(daemon_id);
  return storm.clock.settle();
}

export function holdUp(storm: MachinesStorm): Promise<void> {
  storm.bus.holdUp(storm.anyMachine().daemon_id);
  return Promise.resolve();
}

export function resume(storm: MachinesStorm): Promise<void> {
  for (const { daemon_id } of storm.machines) storm.bus.resume(daemon_id);
  return storm.clock.settle();
}

export function repeat(storm: MachinesStorm): Promise<void> {
  storm.bus.repeat(storm.anyMachine().daemon_id);
  return storm.clock.settle();
}

export function loseStore(storm: MachinesStorm): Promise<void> {
  storm.bus.loseStore();
  return storm.clock.settle();
}

export function setFull(storm: MachinesStorm, isFull: boolean): Promise<void> {
  storm.bus.faults.isFull = isFull;
  return storm.clock.settle();
}

export function setSilent(storm: MachinesStorm, isSilent: boolean): Promise<void> {
  storm.bus.faults.isSilent = isSilent;
  return storm.clock.settle();
}

export function lapse(storm: MachinesStorm): Promise<void> {
  storm.bus.lapse(storm.anyMachine().daemon_id);
  return storm.clock.settle();
}

/** Sets a single machine's clock wrong, and the others right. */
export async function setClock(storm: MachinesStorm): Promise<void> {
  const { chance } = storm;
  const machine = storm.anyMachine();
  for (const { clock } of storm.machines) clock.ahead_ms = 0;
  machine.clock.ahead_ms = chance.pick(SKEWS_MS) * (chance.oneIn(2) ? 1 : -1);
  await storm.tick();
}
