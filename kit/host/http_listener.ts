/**
 * An HTTP listener that keeps listening on its address for as long as the process runs, and the
 * signal that ends the process.
 */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { atMostEvery } from "kit/core/timeout.ts";

/** Pause before the next attempt to listen on the address again. */
const RETRY_MS = 100;
/** At most one error is logged in this time. */
const LOG_EVERY_MS = 10_000;

type Handler = (request: Request, remote: Deno.NetAddr) => Response | Promise<Response>;

interface HttpListenerOptions {
  readonly hostname: string;
  /** If 0, the system picks a free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly handle: Handler;
  /** Builds the response to a request whose `handle` threw. */
  onError(error: unknown): Response;
}

/**
 * Deno stops listening for good if it cannot accept a connection, for example when the process has
 * reached its limit of open files. A client with many connections could cause that, and another
 * program on this machine could then listen in the daemon's place. Therefore this class listens
 * again at once.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #closing = new AbortController();
  #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #mayLog: () => boolean;

  /** Throws if it cannot listen on the address. */
  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#mayLog = atMostEvery(options.clock, LOG_EVERY_MS);
    this.#server = this.#listen(options.port);
    void this.#keepListening();
  }

  get addr(): Deno.NetAddr {
    return this.#server.addr;
  }

  /** Stops accepting connections; resolves once all requests are answered. */
  async shutdown(): Promise<void> {
    this.#closing.abort();
    await this.#server.shutdown();
  }

  #listen(port: number): Deno.HttpServer<Deno.NetAddr> {
    const { hostname, handle, onError } = this.#options;
    const options = { hostname, port, onListen: () => undefined, onError };
    return Deno.serve(options, (request, { remoteAddr }) => handle(request, remoteAddr));
  }

  async #keepListening(): Promise<void> {
    const { port } = this.addr;
    while (!this.#closing.signal.aborted) {
      try {
        return await this.#server.finished;
      } catch (error) {
        this.#logLimited("Cannot accept connections; listening again", error);
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
        this.#logLimited("Cannot listen again yet; retrying", error);
      }
      await this.#options.clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }

  #logLimited(message: string, error: unknown): void {
    if (this.#mayLog()) this.#options.log.error(message, { error });
  }
}

/** The URL of a listener. An IPv6 address is put in brackets. */
export function urlOf({ hostname, port }: Pick<Deno.NetAddr, "hostname" | "port">): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** Resolves with the first signal that asks the process to end. */
export function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => resolve(signal));
    }
  });
}
