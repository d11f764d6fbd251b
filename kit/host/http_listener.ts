/** An address that stays ours for as long as the process runs, whatever connects to it. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";

/** How long an address is left alone that could not be listened on again. */
const RETRY_MS = 100;
/** How often it is logged that connections cannot be taken. */
const LOG_EVERY_MS = 10_000;

type Handler = (request: Request, remote: Deno.NetAddr) => Response | Promise<Response>;

export interface HttpListenerOptions {
  readonly hostname: string;
  /** 0 picks one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly handle: Handler;
  /** What is answered after a fault of ours. */
  onError(error: unknown): Response;
}

/**
 * The runtime stops listening for good when it cannot take a connection, as when all files that a
 * process may have are open: whoever connects often enough would have it end, or stay deaf, and on
 * the same machine could listen in its place. So it listens again at once.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #closing = new AbortController();
  #server: Deno.HttpServer<Deno.NetAddr>;
  #logged_at = Number.NEGATIVE_INFINITY;

  /** Throws where the address cannot be listened on. */
  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#server = this.#listen(options.port);
    void this.#keepListening();
  }

  get addr(): Deno.NetAddr {
    return this.#server.addr;
  }

  /** Takes no more connections; resolves once what was under way is answered. */
  async shutdown(): Promise<void> {
    this.#closing.abort();
    await this.#server.shutdown();
  }

  #listen(port: number): Deno.HttpServer<Deno.NetAddr> {
    const { hostname, handle, onError } = this.#options;
    const options = { hostname, port, onListen: () => undefined, onError: onError };
    return Deno.serve(options, (request, { remoteAddr }) => handle(request, remoteAddr));
  }

  async #keepListening(): Promise<void> {
    const { port } = this.addr;
    while (!this.#closing.signal.aborted) {
      try {
        return await this.#server.finished;
      } catch (error) {
        this.#logLimited("No connection can be taken for now", error);
      }
      await this.#listenAgain(port);
    }
  }

  async #listenAgain(port: number): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        this.#server = this.#listen(port);
        return;
      } catch (error) {
        this.#logLimited("The address cannot be listened on again for now", error);
      }
      await this.#options.clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }

  #logLimited(message: string, error: unknown): void {
    const { clock, log } = this.#options;
    if (clock.now() - this.#logged_at < LOG_EVERY_MS) return;
    this.#logged_at = clock.now();
    log.error(message, { error });
  }
}
