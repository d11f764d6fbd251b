/** Sockets of other users' programs that have not shown the token yet. */

/** One that never says a word may still hold as much of a message as the runtime takes, 64 MiB. */
const SOCKETS_MAX = 8;

/** Few at once: nobody but the daemon's own user may make it hold much without the token. */
export class UnauthenticatedSockets {
  readonly #open = new Set<symbol>();

  get full(): boolean {
    return this.#open.size >= SOCKETS_MAX;
  }

  /** One more; call what it gives when it has shown the token, or is gone. */
  add(): () => void {
    const socket = Symbol();
    this.#open.add(socket);
    return () => void this.#open.delete(socket);
  }
}
