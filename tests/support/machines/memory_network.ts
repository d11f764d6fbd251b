/** A network of machines in memory: their bus, and worlds that are connected to it. */

import { randomIds } from "kit/core/clock.ts";
import { Machines } from "../../../daemon/machines/machines.ts";
import { type MachineKeys, makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import { makeNetworkSecret, networkKeysOf } from "../../../daemon/machines/trust/network.ts";
import { type Bus, BusError, type BusListener } from "../../../daemon/machines/bus.ts";
import { FakeClock } from "../clock.ts";
import { countingIds } from "../ids.ts";
import { SwiftClock } from "../swift_clock.ts";
import { SkewedClock } from "./skewed_clock.ts";
import { type World, world, type WorldOptions } from "../world.ts";

interface StoredBatch {
  readonly from: string;
  readonly bytes: Uint8Array;
}

const CONNECTING = "connecting";

/** A call on its way. */
export interface SentCall {
  readonly from: string;
  readonly to: string;
  readonly frame: Uint8Array;
}

/** A bus that keeps order and loses nothing, while no test tells it otherwise. */
export class MemoryNetworkBus {
  /** The run of each machine that takes part. */
  readonly #listeners = new Map<string, BusListener>();
  readonly #stored = new Map<string, StoredBatch[]>();
  readonly #ids = new Set<string>();
  readonly #entries = new Map<string, Uint8Array>();
  readonly #delivering = new Set<string>();
  readonly files = new Map<string, Uint8Array>();
  /** The machines that cannot reach the bus now. */
  readonly #cut = new Set<string>();
  /** Sees each batch before it is stored; false drops it. */
  onPublish: (from: string, to: string, bytes: Uint8Array) => boolean = () => true;

  /** True if the server permits heartbeats. */
  permitsBeats = true;
  readonly #retries = new Set<() => Promise<void>>();

  /** All calls so far, as a stolen bus sees them. */
  readonly sent: SentCall[] = [];
  /** Delivers a call; a test may replace it. */
  carry: (call: SentCall) => Promise<Uint8Array> = (call) => this.deliver(call);

  /** The connection of a machine. */
  connect(daemonId: string, listener: BusListener): Bus {
    const mustReach = () => {
      if (!this.#cut.has(daemonId)) return;
      throw new BusError("unreachable", "The bus cannot be reached", "no");
    };
    const reached = async <T>(work: () => T | Promise<T>): Promise<T> => {
      await Promise.resolve();
      mustReach();
      return await work();
    };
    let reason: string | null = CONNECTING;
    const admit = async () => {
      reason = await this.#admit(daemonId, listener);
      if (reason === null) this.#connected(daemonId, listener);
      else if (!isClosed) this.#retries.add(admit);
    };
    let isClosed = false;
    void admit();
    return {
      status: () => {
        const why = this.#cut.has(daemonId) ? "cut off" : reason;
        if (why === CONNECTING) return { status: CONNECTING, since: 0, reason: null };
        return { status: why === null ? "connected" : "down", since: 0, reason: why };
      },
      publish: (to, id, bytes) => reached(() => this.#publish(daemonId, { to, id, bytes })),
      call: (to, request) => reached(() => this.#call({ from: daemonId, to, frame: request })),
      beat: (bytes) => reached(() => this.#beat(daemonId, bytes)),
      canBeat: () => this.permitsBeats,
      announce: (entry) => reached(() => this.#announce(daemonId, entry)),
      withdraw: () => reached(() => this.#announce(daemonId, null)),
      putFile: (name, bytes) => reached(() => void this.files.set(name, bytes.slice())),
      getFile: (name) => reached(() => this.files.get(name)?.slice() ?? null),
      deleteFile: (name) => reached(() => void this.files.delete(name)),
      roundTrip: () => reached(() => 1),
      heardAt: () => null,
      backlog: () =>
        reached(() => ({
          waiting: this.#queueOf(daemonId).length,
          bytes: null,
          max_bytes: null,
        })),
      close: () => {
        isClosed = true;
        this.#retries.delete(admit);
        if (this.#listeners.get(daemonId) === listener) this.#listeners.delete(daemonId);
        return Promise.resolve();
      },
    };
  }

  /** Lets refused runs try again. */
  async retry(): Promise<void> {
    const retries = [...this.#retries];
    this.#retries.clear();
    for (const retry of retries) await retry();
  }

  /** Cuts a machine off from the bus, or lets it reach the bus again. */
  setReachable(daemonId: string, isReachable: boolean): void {
    if (isReachable) this.#cut.delete(daemonId);
    else this.#cut.add(daemonId);
    const listener = this.#listeners.get(daemonId);
    if (!listener) return;
    if (isReachable) this.#connected(daemonId, listener);
    else listener.changed({ status: "down", since: 0, reason: "cut off" });
  }

  /** The lease of a machine's entry ends. */
  lapse(daemonId: string): void {
    this.#announce(daemonId, null);
  }

  /** Puts bytes into the queue of a machine, as a stolen bus could. */
  inject(to: string, from: string, bytes: Uint8Array): void {
    this.#queueOf(to).push({ from, bytes });
    this.#deliver(to);
  }

  waitingFor(daemonId: string): number {
    return this.#queueOf(daemonId).length;
  }

  /** Hands a call to its machine, and returns the answer. */
  async deliver({ from, to, frame }: SentCall): Promise<Uint8Array> {
    const listener = this.#cut.has(to) ? undefined : this.#listeners.get(to);
    if (!listener) throw new BusError("no_answer", "Nobody answers", "no");
    try {
      const answer = await listener.call(from, frame.slice());
      if (answer) return answer;
    } catch {
      // Nobody answers.
    }
    throw new BusError("no_answer", "Nobody answers");
  }

  /**
   * Lets a run take part, unless another run of its id refuses it. Returns the reason of a refusal.
   */
  async #admit(daemonId: string, listener: BusListener): Promise<string | null> {
    const before = this.#listeners.get(daemonId);
    const call = async (request: Uint8Array) => {
      if (!before || before === listener) throw new BusError("no_answer", "Nobody is there", "no");
      const answer = await before.call(daemonId, request);
      if (!answer) throw new BusError("no_answer", "Nobody answers");
      return answer;
    };
    try {
      await listener.admit?.({ call, listen: () => undefined });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      listener.changed({ status: "down", since: 0, reason });
      return reason;
    }
    this.#listeners.set(daemonId, listener);
    return null;
  }

  #beat(daemonId: string, bytes: Uint8Array): void {
    for (const [other, listener] of this.#listeners) {
      if (other !== daemonId && !this.#cut.has(other)) listener.heard?.(daemonId, bytes);
    }
  }

  #call(call: SentCall): Promise<Uint8Array> {
    this.sent.push(call);
    return this.carry(call);
  }

  #connected(daemonId: string, listener: BusListener): void {
    if (this.#cut.has(daemonId)) return;
    listener.changed({ status: "connected", since: 0, reason: null });
    for (const [other, entry] of this.#entries) {
      if (other !== daemonId) listener.announced(other, entry);
    }
    this.#deliver(daemonId);
  }

  #publish(
    from: string,
    { to, id, bytes }: { readonly to: string; readonly id: string; readonly bytes: Uint8Array },
  ): void {
    if (this.#ids.has(`${from} ${id}`) || !this.onPublish(from, to, bytes)) return;
    this.#ids.add(`${from} ${id}`);
    this.#queueOf(to).push({ from, bytes: bytes.slice() });
    this.#deliver(to);
  }

  #announce(daemonId: string, entry: Uint8Array | null): void {
    if (entry) this.#entries.set(daemonId, entry);
    else this.#entries.delete(daemonId);
    for (const [other, listener] of this.#listeners) {
      if (other !== daemonId && !this.#cut.has(other)) listener.announced(daemonId, entry);
    }
  }

  #deliver(to: string): void {
    if (this.#delivering.has(to)) return;
    this.#delivering.add(to);
    void this.#deliverAll(to).finally(() => this.#delivering.delete(to));
  }

  async #deliverAll(to: string): Promise<void> {
    for (;;) {
      await Promise.resolve();
      const queue = this.#queueOf(to);
      const listener = this.#cut.has(to) ? undefined : this.#listeners.get(to);
      const [batch] = queue;
      if (!listener || !batch) return;
      try {
        await listener.batch(batch.from, batch.bytes);
      } catch {
        return; // Handed out again when the machine connects.
      }
      if (queue[0] === batch) queue.shift();
    }
  }

  #queueOf(machine: string): StoredBatch[] {
    return this.#stored.getOrInsertComputed(machine, () => []);
  }
}

/** A machine of a network in memory. */
export type NetworkedWorld = World & { readonly name: string; readonly daemon_id: string };

export interface MachineOptions extends Omit<WorldOptions, "clock"> {
  readonly keys?: MachineKeys;
  /**
   * Time by which its clock is ahead of the network's. If given, the clock can be set on its own.
   */
  readonly ahead_ms?: number;
}

/** Several machines on one bus, with one clock. */
export class MemoryNetwork {
  readonly bus = new MemoryNetworkBus();
  readonly clock: FakeClock;
  readonly #keys = networkKeysOf(makeNetworkSecret(randomIds));
  #machines = 0;

  constructor(clock: FakeClock = new SwiftClock()) {
    this.clock = clock;
  }

  /** Starts a machine that shares every circle. */
  join(
    name: string,
    { settings, keys, ahead_ms, ...options }: MachineOptions = {},
  ): NetworkedWorld {
    const machine_keys = keys ?? makeMachineKeys(randomIds);
    const opened = world({
      clock: ahead_ms === undefined ? this.clock : new SkewedClock(this.clock, ahead_ms),
      ids: countingIds((++this.#machines) * 1_000_000),
      ...options,
      settings: { "mesh.bus.url": "nats://127.0.0.1:4222", "mesh.bus.allow": '["*"]', ...settings },
      machines: {
        membership: { name, url: "nats://127.0.0.1:4222" },
        access: {
          keys: machine_keys,
          place: name,
          network: this.#keys,
          open: (daemonId, listener) => Promise.resolve(this.bus.connect(daemonId, listener)),
        },
        open: (ctx, deps) => new Machines(ctx, deps),
      },
    });
    return { ...opened, name, daemon_id: opened.daemon.identity.daemon_id };
  }
}

/** Two machines that know each other, with a peer each: `web@laptop` and `api@buildbox`. */
export async function laptopAndBuildbox(
  options: {
    readonly laptop?: MachineOptions;
    readonly buildbox?: MachineOptions;
    /** The folder of api. */
    readonly path?: string;
  } = {},
) {
  const network = new MemoryNetwork();
  const laptop = network.join("laptop", options.laptop);
  const buildbox = network.join("buildbox", options.buildbox);
  const web = laptop.socket();
  await web.connect({ display_name: "web", circle: "work" });
  const api = buildbox.socket();
  const { path } = options;
  await api.connect({ display_name: "api", circle: "work", ...(path !== undefined && { path }) });
  const machines = [laptop, buildbox];
  await pass(machines, 3);
  return {
    network,
    laptop,
    buildbox,
    /** The sockets of the two peers. */
    web,
    api,
    pass: (seconds?: number) => pass(machines, seconds),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const machine of machines) await machine[Symbol.asyncDispose]();
    },
  };
}

/** Lets some seconds pass on all machines, each with a tick. */
export async function pass(machines: readonly NetworkedWorld[], seconds = 1): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    const [first] = machines;
    await first?.clock.advance(1000);
    for (const { daemon } of machines) daemon.tick();
    await first?.clock.settle();
  }
}
