/** The bus of a storm: it loses, repeats, delays and reorders batches, and loses machines. */

import {
  type Bus,
  BusError,
  type BusListener,
  IdentityInUse,
} from "../../../daemon/machines/bus.ts";
import type { FakeClock } from "../../support/clock.ts";
import type { Chance } from "../../support/seeded_random.ts";
import { BusFaults } from "./bus_faults.ts";

interface StoredBatch {
  readonly from: string;
  readonly bytes: Uint8Array;
}

interface Announcement {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** Time after which the client ends a connection without traffic. */
const PROOF_OF_LIFE_MS = 40_000;
/** A batch that was not taken is handed out again after this time. */
const REPEAT_MS = 1000;
const LEASE_MS = 60_000;

export class StormBus {
  readonly #chance: Chance;
  readonly #clock: FakeClock;
  readonly #listeners = new Map<string, BusListener>();
  /** Runs that do not take part yet, each with its machine. */
  readonly #waiting = new Map<BusListener, string>();
  readonly #admitting = new Set<BusListener>();
  readonly #delivering = new Set<BusListener>();
  readonly #stored = new Map<string, StoredBatch[]>();
  readonly #ids = new Set<string>();
  readonly #entries = new Map<string, Announcement>();
  readonly #files = new Map<string, Uint8Array>();
  readonly #cut = new Set<string>();
  readonly #held = new Set<string>();
  /** Links that stay open and pass nothing; each promise rejects when the client ends the link. */
  readonly #frozen = new Map<
    string,
    { readonly end: PromiseWithResolvers<void>; cancel(): void }
  >();
  readonly faults: BusFaults;
  /** The last batch that each machine received. */
  readonly #lastTaken = new Map<string, StoredBatch>();

  constructor(chance: Chance, clock: FakeClock) {
    this.#chance = chance;
    this.faults = new BusFaults(chance);
    this.#clock = clock;
  }

  /** The connection of a machine, or of a copy of it, which takes part if no other run does. */
  open(machine: string, listener: BusListener): Promise<Bus> {
    this.#waiting.set(listener, machine);
    void this.#admit(machine, listener);
    const reached = <T>(work: () => T | Promise<T>) => this.#reached(machine, listener, work);
    return Promise.resolve({
      status: () => {
        const isReachable = this.#isReachable(machine, listener);
        return { status: isReachable ? "connected" : "down", since: 0, reason: null };
      },
      publish: (to, id, bytes) => this.#publish({ machine, listener }, { to, id, bytes }),
      call: (to, request) => this.#callFrom({ machine, listener }, to, request),
      beat: (bytes) => reached(() => this.#tellBeat(machine, bytes)),
      canBeat: () => true,
      announce: (entry) => reached(() => this.#announce(machine, entry)),
      withdraw: () => reached(() => this.#announce(machine, null)),
      putFile: (name, bytes) => reached(() => void this.#files.set(name, bytes.slice())),
      getFile: (name) => reached(() => this.#files.get(name)?.slice() ?? null),
      deleteFile: (name) => reached(() => void this.#files.delete(name)),
      roundTrip: () => reached(() => 1),
      heardAt: () => null,
      backlog: () =>
        reached(() => ({ waiting: this.waitingFor(machine), bytes: null, max_bytes: null })),
      close: () => {
        this.#waiting.delete(listener);
        this.thaw(machine);
        if (this.#listeners.get(machine) === listener) this.#listeners.delete(machine);
        return Promise.resolve();
      },
    });
  }

  /** The machine has lost its power: nothing reaches it, and nothing comes from it. */
  disconnect(machine: string): void {
    this.thaw(machine);
    this.#listeners.delete(machine);
    for (const [listener, of] of [...this.#waiting]) {
      if (of === machine) this.#waiting.delete(listener);
    }
  }

  /** Cuts a machine off, or lets it reach the bus again. */
  setReachable(machine: string, isReachable: boolean): void {
    if (isReachable !== this.#cut.has(machine)) return;
    if (isReachable) {
      this.#cut.delete(machine);
      return this.#connected(machine);
    }
    this.#cut.add(machine);
    this.#listeners.get(machine)?.changed({ status: "down", since: 0, reason: "cut off" });
  }

  /** Freezes a link: requests hang until the client ends the connection, or the link thaws. */
  freeze(machine: string): void {
    if (this.#cut.has(machine) || this.#frozen.has(machine)) return;
    const end = Promise.withResolvers<void>();
    end.promise.catch(() => undefined);
    const cancel = this.#clock.setTimer(PROOF_OF_LIFE_MS, () => {
      this.#frozen.delete(machine);
      this.setReachable(machine, false);
      end.reject(unreachable("unknown"));
    });
    this.#frozen.set(machine, { end, cancel });
  }

  thaw(machine: string): void {
    const frozen = this.#frozen.get(machine);
    if (!frozen) return;
    this.#frozen.delete(machine);
    frozen.cancel();
    frozen.end.resolve();
    this.#deliver(machine);
  }

  /** Delays the batches for a machine, until `resume`. */
  holdUp(machine: string): void {
    this.#held.add(machine);
  }

  resume(machine: string): void {
    this.#held.delete(machine);
    this.#deliver(machine);
  }

  /** The lease of a machine's entry ends. */
  lapse(machine: string): void {
    if (this.#entries.delete(machine)) this.#tellOthers(machine, null);
  }

  /** Ends leases that were not renewed, and lets refused runs try again. */
  tick(): void {
    for (const [listener, machine] of [...this.#waiting]) void this.#admit(machine, listener);
    const before = this.#clock.now() - LEASE_MS;
    for (const [machine, { at }] of [...this.#entries]) if (at < before) this.lapse(machine);
  }

  /** Hands the last batch for a machine out once more, behind all others. */
  repeat(machine: string): void {
    const queue = this.#queueOf(machine);
    const batch = queue.at(-1) ?? this.#lastTaken.get(machine);
    if (batch) queue.push({ ...batch });
    this.#deliver(machine);
  }

  /** The bus begins with an empty disk. */
  loseStore(): void {
    for (const queue of this.#stored.values()) queue.length = 0;
    this.#ids.clear();
    this.#files.clear();
    for (const machine of [...this.#entries.keys()]) this.lapse(machine);
  }

  /** True if a run of a machine is connected and can be reached. A copy shares its frozen link. */
  takesPart(machine: string): boolean {
    const isAway = this.#cut.has(machine) || this.#frozen.has(machine);
    return this.#listeners.has(machine) && !isAway;
  }

  waitingFor(machine: string): number {
    return this.#queueOf(machine).length;
  }

  async #admit(machine: string, listener: BusListener): Promise<void> {
    if (this.#admitting.has(listener)) return;
    this.#admitting.add(listener);
    const holder = this.#listeners.get(machine);
    const call = async (request: Uint8Array) => {
      if (!holder) throw new BusError("no_answer", "Nobody is connected", "no");
      const answer = await holder.call(machine, request.slice());
      if (!answer) throw new BusError("no_answer", "Nobody answers");
      return answer;
    };
    try {
      await listener.admit?.({ call, listen: () => undefined });
      if (!this.#waiting.delete(listener)) return;
      this.#listeners.set(machine, listener);
      this.#connected(machine);
    } catch (error) {
      if (!(error instanceof IdentityInUse || error instanceof BusError)) throw error;
      if (this.#waiting.has(listener)) {
        listener.changed({ status: "down", since: 0, reason: error.message });
      }
    } finally {
      this.#admitting.delete(listener);
    }
  }

  #tellBeat(machine: string, bytes: Uint8Array): void {
    for (const [other, listener] of this.#listeners) {
      const isTold = other !== machine && !this.#cut.has(other) && !this.faults.hits();
      if (isTold) listener.heard?.(machine, bytes);
    }
  }

  #connected(machine: string): void {
    const listener = this.#listeners.get(machine);
    if (!listener || this.#cut.has(machine)) return;
    listener.changed({ status: "connected", since: 0, reason: null });
    for (const [other, { bytes }] of this.#entries) {
      if (other !== machine) listener.announced(other, bytes);
    }
    this.#deliver(machine);
  }

  async #publish(
    { machine, listener }: { readonly machine: string; readonly listener: BusListener },
    { to, id, bytes }: { readonly to: string; readonly id: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    await this.faults.pass();
    if (this.faults.hits()) await this.#frozen.get(machine)?.end.promise;
    if (!this.#isReachable(machine, listener) || this.faults.hits()) throw unreachable("no");
    if (this.faults.isFull) throw new BusError("full", "The stream is full", "no");
    if (this.faults.hits()) throw unreachable("unknown");
    if (!this.#ids.has(`${machine} ${id}`)) {
      this.#ids.add(`${machine} ${id}`);
      const queue = this.#queueOf(to);
      const at = this.faults.hits() ? this.#chance.below(queue.length + 1) : queue.length;
      queue.splice(at, 0, { from: machine, bytes: bytes.slice() });
      this.#deliver(to);
    }
    await this.faults.pass();
    await this.#frozen.get(machine)?.end.promise;
    if (!this.#isReachable(machine, listener) || this.faults.hits()) throw unreachable("unknown");
  }

  async #reached<T>(
    machine: string,
    listener: BusListener,
    work: () => T | Promise<T>,
  ): Promise<T> {
    await this.faults.pass();
    await this.#frozen.get(machine)?.end.promise;
    if (!this.#isReachable(machine, listener) || this.faults.hits()) throw unreachable("no");
    return await work();
  }

  /** A call has its own timeout, which passes at once here. */
  #callFrom(
    { machine, listener }: { readonly machine: string; readonly listener: BusListener },
    to: string,
    request: Uint8Array,
  ): Promise<Uint8Array> {
    if (!this.#frozen.has(machine)) {
      return this.#reached(machine, listener, () => this.#call(machine, to, request));
    }
    return Promise.reject(new BusError("no_answer", "Nobody answers"));
  }

  async #call(from: string, to: string, request: Uint8Array): Promise<Uint8Array> {
    const isAway = this.#cut.has(to) || this.#frozen.has(to);
    const listener = isAway || this.faults.isSilent ? undefined : this.#listeners.get(to);
    const noAnswer = (stored?: "no") => new BusError("no_answer", "Nobody answers", stored);
    if (!listener) throw noAnswer("no");
    const isLost = this.faults.losesCall();
    let answer: Uint8Array | null;
    try {
      answer = await listener.call(from, request.slice());
    } catch {
      throw noAnswer();
    }
    if (isLost || !answer) throw noAnswer();
    return answer;
  }

  #announce(machine: string, bytes: Uint8Array | null): void {
    if (!bytes) return this.lapse(machine);
    const before = this.#entries.get(machine);
    this.#entries.set(machine, { bytes, at: this.#clock.now() });
    this.#tellOthers(machine, bytes);
    if (before && this.faults.hits()) this.#tellOthers(machine, before.bytes);
  }

  #tellOthers(machine: string, entry: Uint8Array | null): void {
    for (const [other, listener] of this.#listeners) {
      const isAway = this.#cut.has(other) || this.#frozen.has(other);
      const isTold = other !== machine && !isAway && !this.faults.hits();
      if (isTold) listener.announced(machine, entry);
    }
  }

  #deliver(to: string): void {
    const listener = this.#listeners.get(to);
    if (!listener || this.#delivering.has(listener)) return;
    this.#delivering.add(listener);
    void this.#deliverAll(to, listener).finally(() => this.#delivering.delete(listener));
  }

  async #deliverAll(to: string, listener: BusListener): Promise<void> {
    const queue = this.#queueOf(to);
    for (;;) {
      await this.faults.pass();
      const batch = queue[this.faults.hits() ? this.#chance.below(queue.length) : 0];
      if (!batch || this.#held.has(to) || this.#frozen.has(to)) return;
      if (!this.#isReachable(to, listener)) return;
      const isLost = this.faults.hits();
      try {
        if (!isLost) await listener.batch(batch.from, batch.bytes);
      } catch {
        this.#clock.setTimer(REPEAT_MS, () => this.#deliver(to));
        return;
      }
      // The link froze while the batch was taken: its acknowledgement is lost.
      if (this.#frozen.has(to)) return;
      const isTaken = this.#isReachable(to, listener) && !this.faults.hits();
      if (!isTaken && !isLost) continue; // The bus has not heard that it was taken.
      this.#lastTaken.set(to, batch);
      const at = queue.indexOf(batch);
      if (at >= 0) queue.splice(at, 1);
    }
  }

  #isReachable(machine: string, listener: BusListener): boolean {
    return this.#listeners.get(machine) === listener && !this.#cut.has(machine);
  }

  #queueOf(machine: string): StoredBatch[] {
    return this.#stored.getOrInsertComputed(machine, () => []);
  }
}

function unreachable(stored: "no" | "unknown"): BusError {
  return new BusError("unreachable", "The bus cannot be reached", stored);
}
