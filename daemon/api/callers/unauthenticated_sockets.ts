/** Limits the number of sockets that have not sent the token yet. */

/**
 * How many sockets without the token may be open. Even a silent socket may buffer a message of
 * 64 MiB, the runtime's limit.
 */
const SOCKETS_MAX = 8;

/** Bounds the memory that programs without the token can use. */
export class UnauthenticatedSockets {
  readonly #open = new Set<symbol>();

  get full(): boolean {
    return this.#open.size >= SOCKETS_MAX;
  }

  /**
   * Counts a socket. Call the returned function when the socket has sent the token or has closed.
   */
  add(): () => void {
    const socket = Symbol();
    this.#open.add(socket);
    return () => void this.#open.delete(socket);
  }
}
