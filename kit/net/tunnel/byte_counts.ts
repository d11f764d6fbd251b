/** Counts bytes by owner and in total. The owners have an order, which callers maintain. */

export class ByteCounts<K> {
  readonly #bytes = new Map<K, number>();
  /** The bytes of all owners together. */
  total = 0;

  of(owner: K): number {
    return this.#bytes.get(owner) ?? 0;
  }

  /** The first owner in the order; undefined if no owner holds bytes. */
  get first(): K | undefined {
    return this.#bytes.keys().next().value;
  }

  get largest(): K | undefined {
    return [...this.#bytes].sort(([, a], [, b]) => b - a)[0]?.[0];
  }

  /** Sets the bytes of an owner. The owner keeps its place in the order; 0 removes the owner. */
  set(owner: K, bytes: number): void {
    this.total += bytes - this.of(owner);
    if (bytes > 0) this.#bytes.set(owner, bytes);
    else this.#bytes.delete(owner);
  }

  /** Sets the bytes of an owner and moves the owner to the end. 0 removes the owner. */
  setLast(owner: K, bytes: number): void {
    this.set(owner, 0);
    this.set(owner, bytes);
  }
}
