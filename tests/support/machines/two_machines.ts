/** Two machines in memory that call each other over a bus, which a test can disturb. */

import { client } from "kit/http/client.ts";
import { randomIds } from "kit/core/clock.ts";
import { type MachineSeal, PinnedSeal } from "../../../daemon/machines/trust/seal.ts";
import { Envelopes } from "../../../daemon/machines/trust/envelope.ts";
import { type MachineKeys, makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import type { FakeClock } from "../clock.ts";
import { BASE, LOOPBACK } from "../world.ts";
import {
  type MachineOptions,
  MemoryNetwork,
  type MemoryNetworkBus,
  type NetworkedWorld,
} from "./memory_network.ts";

export interface CallingMachineOptions extends MachineOptions {
  readonly allow_admin?: readonly string[];
}

/** A machine whose keys a test has, as a thief of the machine would. */
export interface CallingMachine extends NetworkedWorld {
  readonly keys: MachineKeys;
  readonly seal: MachineSeal;
  /** Takes the bytes of a call, as from the bus. */
  receive(from: string, frame: Uint8Array): Promise<Uint8Array>;
}

/** A machine that shares no circle. */
export function joinCalling(
  network: MemoryNetwork,
  name: string,
  { allow_admin = [], settings, keys = makeMachineKeys(randomIds), ...more }: CallingMachineOptions,
): CallingMachine {
  const joined = network.join(name, {
    keys,
    settings: {
      "mesh.bus.allow": "[]",
      "mesh.bus.allow_admin": JSON.stringify(allow_admin),
      ...settings,
    },
    ...more,
  });
  const { daemon, daemon_id } = joined;
  const { calls } = daemon;
  if (!calls) throw new Error("This machine is on no bus");
  return {
    ...joined,
    keys,
    seal: new PinnedSeal(daemon.ctx.db, new Envelopes({ daemon_id, keys }, randomIds)),
    receive: (from, frame) => calls.server.receive(from, frame),
  };
}

/** Lets machines that have just connected know each other, before any of them is pinged. */
export async function introduce(machines: readonly NetworkedWorld[]): Promise<void> {
  const [first] = machines;
  await first?.clock.settle();
  for (const { daemon } of machines) daemon.tick();
  await first?.clock.settle();
}

export interface TwoMachines extends AsyncDisposable {
  readonly network: MemoryNetwork;
  readonly bus: MemoryNetworkBus;
  readonly laptop: CallingMachine;
  readonly buildbox: CallingMachine;
  /** Calls buildbox from laptop, by the types of the contracts. */
  readonly call: ReturnType<typeof client>;
  /** As `call`, from a terminal of a person. */
  readonly callAtTerminal: ReturnType<typeof client>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Two machines that know each other. `laptop` may administer `buildbox`, unless told otherwise. */
export async function twoMachines(
  laptop: CallingMachineOptions = {},
  buildbox: CallingMachineOptions = {},
  clock?: FakeClock,
): Promise<TwoMachines> {
  const two = twoStrangers(laptop, buildbox, clock);
  await introduce([two.laptop, two.buildbox]);
  return two;
}

/** As `twoMachines`, before either has announced itself. */
export function twoStrangers(
  laptop: CallingMachineOptions,
  buildbox: CallingMachineOptions,
  clock?: FakeClock,
): TwoMachines {
  const network = new MemoryNetwork(clock);
  const first = joinCalling(network, "laptop", laptop);
  const second = joinCalling(network, "buildbox", { allow_admin: ["laptop"], ...buildbox });
  const send = (request: Request) => first.daemon.fetch(request, LOOPBACK);
  const base = `${BASE}/machines/buildbox/call`;
  return {
    network,
    bus: network.bus,
    laptop: first,
    buildbox: second,
    call: client(base, send),
    callAtTerminal: client(base, send, { "x-mesh-terminal": "7" }),
    fetch: (path, init) => send(new Request(`${base}${path}`, init)),
    async [Symbol.asyncDispose](): Promise<void> {
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}
