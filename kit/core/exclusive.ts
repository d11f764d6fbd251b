/** Runs work one after the other for each key, such as a pane. */

export class ExclusiveWork {
  readonly #last = new Map<string, Promise<void>>();

  get isIdle(): boolean {
    return this.#last.size === 0;
  }

  /** Runs `work` once all earlier work for this key has ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, done);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key);
      resolve();
    }
  }
}
