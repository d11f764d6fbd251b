/** Machines with a directory each, whose entries a test carries between them. */

import { randomIds } from "kit/core/clock.ts";
import { MachineDirectory } from "../../../daemon/machines/directory/machine_directory.ts";
import { MachineTrust } from "../../../daemon/machines/trust/machine_trust.ts";
import { ownPeerIds } from "../../../daemon/features/peers/identity/peer_ids.ts";
import { SharedPeers } from "../../../daemon/features/peers/remote/shared_peers.ts";
import { BusError } from "../../../daemon/machines/bus.ts";
import { countingIds } from "../ids.ts";
import { type World, world } from "../world.ts";
import { makeMachine, makeNetwork } from "./trusted_machines.ts";

export const NETWORK = makeNetwork();

/** No two machines of a test have peers of the same id. */
const SHARED_IDS = countingIds();

/** A bus that collects what is announced. */
class FakeBus {
  readonly entries: Uint8Array[] = [];
  readonly beats: Uint8Array[] = [];
  readonly calls: { readonly to: string; readonly frame: Uint8Array }[] = [];
  /** Answers a call; if absent, calls get no answer. */
  carry: ((to: string, frame: Uint8Array) => Uint8Array | null | undefined) | undefined;
  permitsBeats = true;
  isConnected = true;
  /** Reason with which the bus refuses everything. */
  fault: Error | undefined;
  withdrawn = 0;

  announce(entry: Uint8Array): Promise<void> {
    if (this.fault) return Promise.reject(this.fault);
    this.entries.push(entry);
    return Promise.resolve();
  }

  beat(bytes: Uint8Array): Promise<void> {
    if (this.fault) return Promise.reject(this.fault);
    this.beats.push(bytes);
    return Promise.resolve();
  }

  canBeat(): boolean {
    return this.permitsBeats;
  }

  call(to: string, frame: Uint8Array): Promise<Uint8Array> {
    this.calls.push({ to, frame });
    const answer = this.carry?.(to, frame);
    return answer ? Promise.resolve(answer) : Promise.reject(new BusError("no_answer", "", "no"));
  }

  withdraw(): Promise<void> {
    this.withdrawn++;
    return this.fault ? Promise.reject(this.fault) : Promise.resolve();
  }
}

interface Options {
  readonly name: string;
  /** Another machine, whose clock this one shares. */
  readonly beside?: World;
  readonly circles?: readonly string[];
}

export type Member = ReturnType<typeof member>;

/** A daemon with a directory. What it announces is in `bus.entries`. */
export function member({ name, beside, circles = ["*"] }: Options) {
  const { card, daemon_id, keys } = makeMachine(NETWORK, { name });
  const w = world({
    ids: SHARED_IDS,
    peerIds: () => ownPeerIds(daemon_id, SHARED_IDS),
    ...(beside && { clock: beside.clock }),
  });
  const { ctx, directory: peers, remotePeers, waits } = w.daemon;
  const bus = new FakeBus();
  const changes: string[] = [];
  const trust = new MachineTrust(ctx, { network: NETWORK, own: card });
  const shared = new SharedPeers(ctx, {
    directory: peers,
    circles,
    description_ttl_ms: 900_000,
    waits,
  });
  const directory = new MachineDirectory({ ...ctx, ids: randomIds }, {
    bus,
    card,
    keys,
    network: NETWORK,
    remotePeers,
    shared,
    trust,
    run: randomIds.hex(8),
    isConnected: () => bus.isConnected,
    changed: (_tx, { name }, status) => void changes.push(`${name} ${status}`),
  });
  return {
    w,
    bus,
    changes,
    daemon_id,
    card,
    keys,
    directory,
    entries: bus.entries,
    shared,
    trust,
    /** Lets some seconds pass, ticks, and waits for what that publishes. */
    async tick(seconds = 1): Promise<void> {
      await w.clock.advance(seconds * 1000);
      directory.tick();
      await w.clock.settle();
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}
