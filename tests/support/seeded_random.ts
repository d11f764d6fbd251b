/** Random numbers that a seed determines (mulberry32). */

export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Begins the numbers of another seed. */
  restart(seed: number): void {
    this.#state = seed;
  }

  /** A number from 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, but not including, `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  oneIn(chances: number): boolean {
    return this.below(chances) === 0;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** Picks a row; its chance is proportional to its weight. */
  weighted<T extends { readonly weight: number }>(rows: readonly T[]): T {
    let left = this.below(rows.reduce((sum, { weight }) => sum + weight, 0));
    return rows.find(({ weight }) => (left -= weight) < 0) as T;
  }
}
