/** What goes wrong at the bus of a storm: by chance, or until it is set right. */

import type { Chance } from "../../support/seeded_random.ts";

/** One request or batch in so many meets each fault. */
const FAULT_CHANCES = 14;
/** One call in so many is not answered. */
const CALL_CHANCES = 4;
/** How many turns of the event loop a request takes, so that a machine may stop meanwhile. */
const TURNS_MAX = 4;

export class BusFaults {
  readonly #chance: Chance;
  /** Whether anything goes wrong by chance. */
  byChance = true;
  /** Whether the stream takes no more batches. */
  isFull = false;
  /** Whether no call is answered. */
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
