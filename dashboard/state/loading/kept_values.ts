/** The last loaded values: a view to which a person returns shows them at once. */

/** Maximum values; the least recently used one is dropped. */
const KEPT_MAX = 12;

export class KeptValues {
  readonly #values = new Map<string, unknown>();

  keep(key: string, value: unknown): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > KEPT_MAX && oldest !== undefined) this.#values.delete(oldest);
  }

  /** Undefined if there is none. A key always has values of one type. */
  find<T>(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.keep(key, value);
    return value as T | undefined;
  }
}
