/** Sockets of other users' programs that have not shown the token yet. */

/** One that never says a word may still hold as much of a message as the runtime takes, 64 MiB. */
const STRANGERS_MAX = 8;

/** Few at once: nobody but the daemon's own user may make it hold much without the token. */
export class Strangers {
  readonly #here = new Set<symbol>();

  get full(): boolean {
    return this.#here.size >= STRANGERS_MAX;
  }

  /** One more; call what it gives when it has shown the token, or is gone. */
  enter(): () => void {
    const one = Symbol();
    this.#here.add(one);
    return () => void this.#here.delete(one);
  }
}
