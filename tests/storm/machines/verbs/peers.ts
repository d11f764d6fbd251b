/** Verbs about peers: they connect, read, and leave. */

import type { MachinesStorm } from "../machines_storm.ts";

/** Every connected client reads. */
export async function read({ chance, machines }: MachinesStorm): Promise<void> {
  for (const { actors } of machines) {
    for (const actor of actors) if (!chance.oneIn(3)) await actor.read(chance);
  }
}

export async function receipt(storm: MachinesStorm): Promise<void> {
  const { chance, machines } = storm;
  const statuses = ["accepted", "accepted", "accepted", "seen", "seen", "failed", "rejected"];
  for (const { actors } of machines) {
    for (const actor of actors) await actor.receipt(chance, chance.pick(statuses));
  }
}

export async function drop(storm: MachinesStorm): Promise<void> {
  await storm.chance.pick(storm.anyMachine().actors).drop();
}

/** Connects all peers of a machine that are not. */
export async function connect(storm: MachinesStorm, receipts: boolean): Promise<void> {
  const machine = storm.anyMachine();
  for (const actor of machine.actors) {
    if (!actor.isConnected) await machine.connect(actor, receipts);
  }
}

/** A peer is unregistered or ends for good; the next connection is a new peer. */
export async function leave(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const { peer_id } = storm.chance.pick([...machine.actors, ...machine.agents]);
  if (peer_id === undefined) return;
  const [path, body] = storm.chance.pick(
    [
      ["/peer/unregister", { peer_id }],
      [`/peers/${peer_id}/offline`, { terminal: true }],
      [`/peers/${peer_id}/offline`, { reason: "session_end" }],
      [`/peers/${peer_id}/provenance`, { addressable: storm.chance.oneIn(2) }],
    ] as const,
  );
  await machine.post(path, body);
}

/** Transports that held a delivery back complete it. */
export async function releaseSlow({ machines, clock }: MachinesStorm): Promise<void> {
  for (const { adapter } of machines) adapter.releaseSlow();
  await clock.settle();
}
