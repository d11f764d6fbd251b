/** A bus in memory that, as a seed says, loses, repeats, delays and reorders batches. */

import { BusError } from "../../../daemon/machines/bus.ts";
import type { Chance } from "../seeded_random.ts";

/** A machine as the bus sees it. */
export interface BusReceiver {
  receive(from: string, batch: Uint8Array): Promise<void>;
}

interface StoredBatch {
  readonly from: string;
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** 1 in this many batches meets each fault. */
const FAULT_CHANCES = 12;

export class LossyBus {
  readonly #chance: Chance;
  readonly #receivers = new Map<string, BusReceiver>();
  readonly #stored = new Map<string, StoredBatch[]>();
  readonly #ids = new Set<string>();
  /** True if faults occur. */
  isFaulty = true;
  /** Batches that were stored. */
  published = 0;
  /** Their bytes. */
  bytes = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** From now on the batches for a machine go to this receiver. */
  attach(machine: string, receiver: BusReceiver): void {
    this.#receivers.set(machine, receiver);
  }

  detach(machine: string): void {
    this.#receivers.delete(machine);
  }

  waitingFor(machine: string): number {
    return this.#queueOf(machine).length;
  }

  async publish(
    from: string,
    { to, id, bytes }: { readonly to: string; readonly id: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    const sender = this.#receivers.get(from);
    await this.#pass();
    if (!sender || sender !== this.#receivers.get(from)) throw unreachable("no");
    if (this.#fails()) throw unreachable("no");
    if (this.#fails()) throw unreachable("unknown");
    this.#store(to, { from, id, bytes });
    await this.#pass();
    if (this.#fails()) throw unreachable("unknown");
  }

  /** Hands a machine one of its batches, the first one unless they are reordered. */
  async deliver(machine: string): Promise<void> {
    const queue = this.#queueOf(machine);
    const receiver = this.#receivers.get(machine);
    const at = this.#fails() ? this.#chance.below(queue.length || 1) : 0;
    const [batch] = receiver ? queue.splice(at, 1) : [];
    if (!receiver || !batch) return;
    if (this.#fails()) return; // Lost.
    if (this.#fails()) queue.splice(this.#chance.below(queue.length + 1), 0, batch); // Repeated.
    try {
      await receiver.receive(batch.from, batch.bytes);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      queue.unshift(batch);
      return;
    }
    // The machine has stopped before it told the bus that it has the batch.
    if (receiver !== this.#receivers.get(machine)) queue.unshift(batch);
  }

  /** The bus begins with an empty disk. */
  loseStore(): void {
    for (const queue of this.#stored.values()) queue.length = 0;
    this.#ids.clear();
  }

  #store(to: string, batch: StoredBatch): void {
    if (this.#ids.has(batch.id)) return;
    this.#ids.add(batch.id);
    this.#queueOf(to).push(batch);
    this.published++;
    this.bytes += batch.bytes.length;
  }

  #queueOf(machine: string): StoredBatch[] {
    return this.#stored.getOrInsertComputed(machine, () => []);
  }

  #fails(): boolean {
    return this.isFaulty && this.#chance.oneIn(FAULT_CHANCES);
  }

  /** Some turns of the event loop, in which a machine may stop. */
  async #pass(): Promise<void> {
    for (let turn = this.isFaulty ? this.#chance.below(6) : 1; turn > 0; turn--) {
      await new Promise((done) => setImmediate(done));
    }
  }
}

function unreachable(stored: "no" | "unknown"): BusError {
  return new BusError("unreachable", "The bus cannot be reached", stored);
}
