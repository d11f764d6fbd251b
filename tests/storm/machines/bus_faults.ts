/** Faults of a storm's bus: by chance, or until they are cleared. */

import type { Chance } from "../../support/seeded_random.ts";

/** 1 in this many requests and batches meets each fault. */
const FAULT_CHANCES = 14;
/** 1 in this many calls is not answered. */
const CALL_CHANCES = 4;
/** Maximum turns of the event loop for a request, so that a machine may stop meanwhile. */
const TURNS_MAX = 4;

export class BusFaults {
  readonly #chance: Chance;
  /** True if faults occur by chance. */
  byChance = true;
  /** True if the stream accepts no more batches. */
  isFull = false;
  /** True if no call is answered. */
  isSilent = false;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  clear(): void {
    this.byChance = this.isFull = this.isSilent = false;
  }

  hits(): boolean {
    return this.byChance && this.#chance.oneIn(FAULT_CHANCES);
  }

  losesCall(): boolean {
    return this.byChance && this.#chance.oneIn(CALL_CHANCES);
  }

  /** Some turns of the event loop. */
  async pass(): Promise<void> {
    for (let turn = this.byChance ? this.#chance.below(TURNS_MAX) : 1; turn > 0; turn--) {
      await new Promise((done) => setImmediate(done));
    }
  }
}
