/**
 * A proxy, on TCP or a unix socket, that can freeze its connections: they stay open and carry
 * nothing.
 */

import { systemClock } from "kit/core/clock.ts";

/** The frozen direction: to the server, from it, or both. */
export type Freeze = "up" | "down" | "both" | undefined;

const POLL_MS = 10;
/** Parts of at most 64 KiB that are read while a direction is frozen. */
const READ_AHEAD = 16;

type Target = { readonly hostname?: string; readonly port: number } | { readonly path: string };

/** A connection and its way to the server. */
interface Link {
  readonly client: Deno.Conn;
  readonly server: Deno.Conn;
  /** Frozen for good. */
  isLost: boolean;
}

export class FrozenProxy implements AsyncDisposable {
  readonly #listener: Deno.Listener;
  readonly #target: () => Target;
  readonly #open = new Set<Link>();
  readonly #closed = new AbortController();
  readonly #serving: Promise<void>;
  frozen: Freeze;
  #ended = 0;
  /** Number of accepted connections so far. */
  accepted = 0;

  /** Listens on a port of this machine, or at `path`. */
  constructor(target: number | (() => Target), path?: string) {
    this.#listener = path === undefined
      ? Deno.listen({ hostname: "127.0.0.1", port: 0 })
      : Deno.listen({ transport: "unix", path });
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
    for (const { client, server } of this.#open) {
      close(client);
      close(server);
    }
    this.#open.clear();
  }

  /** Freezes the connections that are open for good; later ones pass. */
  lose(): void {
    for (const link of this.#open) link.isLost = true;
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
    let server: Deno.Conn;
    try {
      const target = this.#target();
      server = await ("path" in target
        ? Deno.connect({ transport: "unix", path: target.path })
        : Deno.connect({ hostname: "127.0.0.1", ...target }));
    } catch (error) {
      close(client);
      if (error instanceof Deno.errors.ConnectionRefused) return;
      throw error;
    }
    const link = { client, server, isLost: false };
    this.#open.add(link);
    await Promise.all([this.#pass(link, "up"), this.#pass(link, "down")]);
    this.#open.delete(link);
    close(client);
    close(server);
  }

  /**
   * Bytes read in a frozen direction wait, as in a router that keeps packets. Some parts are
   * read ahead, so that the end of a client is noticed while its connection is frozen.
   */
  async #pass(link: Link, way: "up" | "down"): Promise<void> {
    const [from, to] = way === "up" ? [link.client, link.server] : [link.server, link.client];
    const pull = async (to: ReadableStreamDefaultController<Uint8Array>) => {
      const bytes = await this.#read(from, way);
      if (bytes) to.enqueue(bytes);
      else to.close();
    };
    const thawed = async () => {
      while (link.isLost || this.frozen === way || this.frozen === "both") {
        await systemClock.sleep(POLL_MS, this.#closed.signal);
      }
    };
    try {
      for await (const bytes of new ReadableStream({ pull }, { highWaterMark: READ_AHEAD })) {
        await thawed();
        for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
      }
      await thawed();
      await to.closeWrite();
    } catch {
      // An end was closed or reset, or the test is over, so the other end is closed at once.
      close(from);
      close(to);
    }
  }

  /** Undefined at the end. */
  async #read(from: Deno.Conn, way: "up" | "down"): Promise<Uint8Array | undefined> {
    const buffer = new Uint8Array(64 << 10);
    let count: number | null = null;
    try {
      count = await from.read(buffer);
    } finally {
      if (count === null && way === "up") this.#ended++;
    }
    return count === null ? undefined : buffer.subarray(0, count);
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
