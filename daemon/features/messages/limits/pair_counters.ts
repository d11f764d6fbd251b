/** Counts the messages of the last minute for each pair of sender and recipient, in memory. */

const WINDOW_SECONDS = 60;
/**
 * The maximum number of pairs in memory. Beyond it, the pair that was silent for longest is
 * forgotten.
 */
export const PAIRS_MAX = 10_000;

interface Slot {
  readonly second: number;
  count: number;
}

export class PairCounters {
  /**
   * The slots of each pair, oldest slot first. The pairs are in the order of their latest slots.
   */
  readonly #slots = new Map<string, Slot[]>();

  get size(): number {
    return this.#slots.size;
  }

  /** Seconds until this pair may send one more message; 0 if it may do so now. */
  secondsUntilAllowed(pair: string, limit: number, now: number): number {
    const slots = this.#recentSlots(pair, now);
    const sent = slots.reduce((sum, { count }) => sum + count, 0);
    if (sent < limit) return 0;
    const oldest = slots.find(({ count }) => count > 0)?.second ?? secondOf(now);
    return oldest + WINDOW_SECONDS - secondOf(now);
  }

  /** Counts one message. The returned function undoes the count. */
  record(pair: string, now: number): () => void {
    const slots = this.#recentSlots(pair, now);
    const last = slots.at(-1);
    const slot = last?.second === secondOf(now) ? last : { second: secondOf(now), count: 0 };
    slot.count++;
    if (slot !== last) {
      this.#slots.delete(pair);
      this.#slots.set(pair, [...slots, slot]);
    }
    const [first] = this.#slots.keys();
    if (this.#slots.size > PAIRS_MAX && first !== undefined) this.#slots.delete(first);
    return () => void slot.count--;
  }

  /** Forgets the pairs that were silent for the whole window. */
  expire(now: number): void {
    for (const [pair, slots] of this.#slots) {
      if (slots.some((slot) => isRecent(slot, now))) return;
      this.#slots.delete(pair);
    }
  }

  /**
   * Returns a pair's slots within the window. Drops older slots, and future slots that were left by
   * a clock that was set back.
   */
  #recentSlots(pair: string, now: number): Slot[] {
    const slots = this.#slots.get(pair) ?? [];
    while (slots[0] && !isRecent(slots[0], now)) slots.shift();
    return slots;
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function isRecent({ second }: Slot, now: number): boolean {
  const age = secondOf(now) - second;
  return age >= 0 && age < WINDOW_SECONDS;
}
