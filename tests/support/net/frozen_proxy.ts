/** A TCP proxy that can freeze its connections: they stay open and carry nothing. */

import { pause } from "kit/core/timeout.ts";
import { systemClock } from "kit/core/clock.ts";

/** The frozen direction: to the server, from it, or both. */
export type Freeze = "up" | "down" | "both" | undefined;

const POLL_MS = 10;

export class FrozenProxy implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #target: () => { readonly hostname?: string; readonly port: number };
  readonly #open = new Set<Deno.Conn>();
  readonly #closed = new AbortController();
  readonly #serving: Promise<void>;
  frozen: Freeze;
  #ended = 0;
  /** Number of accepted connections so far. */
  accepted = 0;

  constructor(target: number | (() => { readonly hostname?: string; readonly port: number })) {
    this.#target = typeof target === "number" ? () => ({ port: target }) : target;
    this.#serving = this.#serve();
  }

  get port(): number {
    return this.#listener.addr.transport === "tcp" ? this.#listener.addr.port : -1;
  }

  /** Number of connections that their client has not closed. */
  get open(): number {
    return this.accepted - this.#ended;
  }

  /** Ends all connections. */
  cut(): void {
    for (const connection of this.#open) close(connection);
    this.#open.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    this.#listener.close();
    this.cut();
    await this.#serving;
  }

  async #serve(): Promise<void> {
    const links: Promise<void>[] = [];
    for await (const client of this.#listener) {
      this.accepted++;
      links.push(this.#link(client));
    }
    await Promise.all(links);
  }

  async #link(client: Deno.Conn): Promise<void> {
    const { hostname = "127.0.0.1", port } = this.#target();
    let server: Deno.Conn;
    try {
      server = await Deno.connect({ hostname, port });
    } catch (error) {
      close(client);
      if (error instanceof Deno.errors.ConnectionRefused) return;
      throw error;
    }
    this.#open.add(client).add(server);
    await Promise.all([this.#pass(client, server, "up"), this.#pass(server, client, "down")]);
    for (const connection of [client, server]) {
      this.#open.delete(connection);
      close(connection);
    }
  }

  /** Bytes that were read in a frozen direction wait, as in a router that keeps a packet. */
  async #pass(from: Deno.Conn, to: Deno.Conn, way: "up" | "down"): Promise<void> {
    const buffer = new Uint8Array(64 << 10);
    try {
      for (;;) {
        const bytes = await from.read(buffer);
        if (bytes === null && way === "up") this.#ended++;
        while (this.frozen === way || this.frozen === "both") {
          if (this.#closed.signal.aborted) return;
          await pause(systemClock, POLL_MS, this.#closed.signal);
        }
        if (bytes === null) return await to.closeWrite();
        for (let at = 0; at < bytes;) at += await to.write(buffer.subarray(at, bytes));
      }
    } catch {
      // One end was closed or reset, so the other end is closed at once.
      if (way === "up") this.#ended++;
      close(from);
      close(to);
    }
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
