/** Errors that nothing catches: they would end the process. */

export class UncaughtErrors implements Disposable {
  #errors: unknown[] = [];
  readonly #onError = (event: ErrorEvent) => this.#add(event, event.error);
  readonly #onRejection = (event: PromiseRejectionEvent) => this.#add(event, event.reason);

  constructor() {
    addEventListener("error", this.#onError);
    addEventListener("unhandledrejection", this.#onRejection);
  }

  /** Throws the first error since the last call. */
  check(): void {
    const [first] = this.#errors.splice(0);
    if (first !== undefined) throw first;
  }

  [Symbol.dispose](): void {
    removeEventListener("error", this.#onError);
    removeEventListener("unhandledrejection", this.#onRejection);
  }

  #add(event: Event, error: unknown): void {
    event.preventDefault();
    this.#errors.push(error);
  }
}
