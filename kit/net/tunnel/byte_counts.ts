/** Counts the bytes that each stream holds, and their total, in order of the last change. */

export class ByteCounts<K> {
  readonly #bytes = new Map<K, number>();
  /** The bytes of all owners. */
  total = 0;

  of(owner: K): number {
    return this.#bytes.get(owner) ?? 0;
  }

  /** The first owner in the order; undefined when nobody holds bytes. */
  get first(): K | undefined {
    return this.#bytes.keys().next().value;
  }

  get largest(): K | undefined {
    return [...this.#bytes].sort(([, a], [, b]) => b - a)[0]?.[0];
  }

  /** Sets the bytes of an owner, which keeps its place in the order. 0 removes it. */
  set(owner: K, bytes: number): void {
    this.total += bytes - this.of(owner);
    if (bytes > 0) this.#bytes.set(owner, bytes);
    else this.#bytes.delete(owner);
  }

  /** Sets the bytes of an owner, which becomes the last in the order. 0 removes it. */
  setLast(owner: K, bytes: number): void {
    this.set(owner, 0);
    this.set(owner, bytes);
  }
}
